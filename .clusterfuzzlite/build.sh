#!/bin/bash -eu
# Builds one fuzzer for each fast target, with its corpus and its dictionary. $SRC, $OUT and
# compile_python_fuzzer are those of the builder's image.
cd "$SRC/codemode-conformance"
python3 -m pip install .
targets=$(python3 -m codemode_fuzz list)
work=$(mktemp -d)
for target in $targets; do
  script="$work/fuzz_$target.py"
  python3 -m codemode_fuzz script "$target" > "$script"
  compile_python_fuzzer "$script" \
    --collect-all codemode_spec --collect-all codemode_reference \
    --collect-all codemode_conformance --collect-all codemode_fuzz --collect-all mcp
  (cd "fuzz/corpus/$target" && python3 -m zipfile -c "$OUT/fuzz_${target}_seed_corpus.zip" ./*)
  if [ -f "fuzz/dictionaries/$target.dict" ]; then
    cp "fuzz/dictionaries/$target.dict" "$OUT/fuzz_$target.dict"
  fi
done
