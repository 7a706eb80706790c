// Which folder holds the most bytes? Two host calls at once, one answer.
//
//   python -m codemode_reference run reference/examples/inventory.js

const folders = ["docs", "src"];
const listings = await Promise.all(folders.map((folder) => codemode.listFiles({ folder })));

const totals = listings.map((files, index) => ({
  folder: folders[index],
  files: files.length,
  bytes: files.reduce((sum, file) => sum + file.bytes, 0),
}));

try {
  await codemode.listFiles({ folder: "nowhere" });
} catch (error) {
  totals.push({ folder: "nowhere", error: error.code });
}

return totals;
