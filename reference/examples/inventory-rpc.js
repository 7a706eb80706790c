// Which folder holds the most bytes? Arguments by position, calls that wait their turn by themselves.
//
//   python -m codemode_reference run --profile worker-rpc reference/examples/inventory-rpc.js

const folders = ["docs", "src", "nowhere"];

// A call that fails gives a value that says so.
const total = async (folder) => {
  const files = await codemode.listFiles(folder);
  if (files.success === false) return { folder, error: files.code };
  const bytes = await files.reduce(
    async (sum, file) => codemode.add(await sum, file.bytes),
    Promise.resolve(0),
  );
  codemode.reportProgress(folders.indexOf(folder) + 1, folders.length, folder);
  return { folder, files: files.length, bytes };
};

const totals = await Promise.all(folders.map(total));

// The last expression is the result.
({ totals, methods: Object.keys(codemode.help()).length })
