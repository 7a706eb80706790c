// Ranks search results: a heading that is the query, as CM-TIM-003 or an error code, comes first.
// All numbers are Sphinx's own.
var Scorer = {
  score: ([, , , , score, , kind]) => (kind === "title" ? 1000 + score : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
