"""Loads JSONL and Parquet with Hugging Face datasets; prints the features and rows of each."""

import json
import sys

import pyarrow.parquet
from datasets import load_dataset

jsonl, parquet, cache = sys.argv[1:]
pyarrow.parquet.ParquetFile(parquet).read()
loaded = [
    load_dataset(kind, data_files=path, split="train", cache_dir=cache)
    for kind, path in (("json", jsonl), ("parquet", parquet))
]
print(json.dumps([{"columns": data.column_names, "rows": list(data)} for data in loaded]))
