// Which folder holds the most bytes? One batch of host calls, one answer.
//
//   python -m codemode_reference run --profile inline-sync reference/examples/inventory-sync.js

const folders = ["docs", "src", "nowhere"];
const before = tools.budget().host_calls.left;

// Entries that only read run together; the results stand in the order of the entries.
const listings = tools.callAll(
  folders.map((folder) => ({ name: "list_files", args: { folder } })),
);

const totals = listings.map((files, index) =>
  files.success === false
    ? { folder: folders[index], error: files.code }
    : {
        folder: folders[index],
        files: files.length,
        bytes: files.reduce((sum, file) => sum + file.bytes, 0),
      },
);

return { totals, calls: before - tools.budget().host_calls.left };
