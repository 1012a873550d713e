"""Writers of every format that captions are read from: the same images and captions, by hand."""

import csv
import io
import json
import tarfile
from dataclasses import dataclass
from functools import wraps
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import parquet


@dataclass
class Mine:
    """Images by name, None where one is missing, and captions by the same names."""

    images: dict[str, bytes | None]
    captions: dict[str, list[str]]

    def rows(self):
        return [(name, caption) for name, captions in self.captions.items() for caption in captions]


def png(seed: int) -> bytes:
    data = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)).save(data, "PNG")
    return data.getvalue()


def mine() -> Mine:
    texts = [
        ["One. Two!", "Another, of the same"],
        ["None"],
        ['said "hi",\nthen left'],
        [" écorce ü ☃ "],
        ["12"],
        ["NA"],
    ]
    names = [f"{number}.png" for number in range(6)]
    return Mine({name: png(seed) for seed, name in enumerate(names)}, dict(zip(names, texts, strict=True)))


def put_images(folder: Path, data: Mine) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in data.images.items():
        if image is not None:
            (folder / name).write_bytes(image)


def beside(write):
    """A format whose images are files of their own."""

    @wraps(write)
    def written(root: Path, data: Mine):
        put_images(root / "images", data)
        return {"images": str(root / "images"), "captions": str(write(root, data))}

    return written


def _json(path: Path, record) -> Path:
    path.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    return path


@beside
def csv_rows(root, data):
    with (root / "a.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([("file_name", "text"), *data.rows()])
    return root / "a.csv"


@beside
def tsv_columns(root, data):
    with (root / "a.tsv").open("w", encoding="utf-8", newline="") as file:
        rows = [(name, *texts, "")[:3] for name, texts in data.captions.items()]
        csv.writer(file, delimiter="\t").writerows([("image", "caption_1", "caption_2"), *rows])
    return root / "a.tsv"


@beside
def jsonl_lists(root, data):
    lines = [json.dumps({"path": name, "captions": texts}) for name, texts in data.captions.items()]
    (root / "a.ndjson").write_text("\n".join(lines), encoding="utf-8")
    return root / "a.ndjson"


@beside
def parquet_lists(root, data):
    names, texts = list(data.captions), list(data.captions.values())
    parquet.write_table(pa.table({"filename": names, "description": texts}), root / "a.parquet")
    return root / "a.parquet"


@beside
def json_rows(root, data):
    return _json(root / "a.json", [{"image": name, "caption": texts} for name, texts in data.captions.items()])


@beside
def json_lines_called_json(root, data):
    lines = [json.dumps({"image": name, "caption": texts}) for name, texts in data.captions.items()]
    (root / "a.json").write_text("\n".join(lines), encoding="utf-8")
    return root / "a.json"


@beside
def json_by_image(root, data):
    return _json(root / "a.json", data.captions)


@beside
def karpathy(root, data):
    images = [
        {"filename": name, "split": "test", "sentences": [{"raw": text} for text in texts]}
        for name, texts in data.captions.items()
    ]
    return _json(root / "a.json", {"images": images})


@beside
def sharegpt4v(root, data):
    prompt = {"from": "human", "value": "?"}
    entries = [{"image": name, "conversations": [prompt, {"from": "gpt", "value": text}]} for name, text in data.rows()]
    return _json(root / "a.json", entries)


@beside
def goal(root, data):
    entries = [
        {"original_filename": name, "original_caption": text, "segment": [{"filename": "x", "caption": "y"}]}
        for name, text in data.rows()
    ]
    return _json(root / "a.json", entries)


@beside
def structxlip(root, data):
    entries = [
        {"original_filename": name, "original_caption": text, "original_filename_structure": f"edge/{name}"}
        for name, text in data.rows()
    ]
    return _json(root / "a.json", entries)


@beside
def folder_with_one_table(root, data):
    (root / "mine").mkdir()
    with (root / "mine" / "captions.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("image", "caption"), *data.rows()])
    return root / "mine"


@beside
def urls(root, data):
    with (root / "a.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(f"https://a.example/some/{name}?size=2", text) for name, text in data.rows()]
        csv.writer(file).writerows([("url", "caption"), *rows])
    return root / "a.csv"


def image_folder(root, data):
    put_images(root / "set", data)
    with (root / "set" / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("file_name", "text"), *data.rows()])
    return {"captions": str(root / "set")}


def txt(root, data):
    put_images(root / "set" / "a", data)
    (root / "set" / "a" / ".DS_Store").write_bytes(b"\0")
    (root / "set" / "a" / "._0.txt").write_bytes(b"\0")
    for name, (text, *_) in data.captions.items():
        (root / "set" / "a" / name).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
    return {"captions": str(root / "set" / "a")}


def put_tar(path: Path, members) -> None:
    with tarfile.open(path, "w") as tar:
        for name, content in members:
            header = tarfile.TarInfo(name)
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))


def _members(data, names, as_text):
    for name in names:
        key = name.removesuffix(".png")
        if data.images[name] is not None:
            yield name, data.images[name]
        if as_text:
            yield f"{key}.txt", data.captions[name][0].encode()
        else:
            yield f"{key}.json", json.dumps({"caption": data.captions[name], "more": 1}).encode()


def _shards(root, data, as_text):
    (root / "set").mkdir()
    names = list(data.images)
    for shard, some in enumerate((names[:3], names[3:])):
        put_tar(root / "set" / f"mine-{shard:03d}.tar", _members(data, some, as_text))


def webdataset_folder(root, data):
    _shards(root, data, False)
    return {"captions": str(root / "set")}


def webdataset_braces(root, data):
    _shards(root, data, True)
    return {"captions": str(root / "set" / "mine-{000..001}.tar")}


def webdataset_one(root, data):
    put_tar(root / "one.tar", [("./" + name, content) for name, content in _members(data, data.images, False)])
    return {"captions": str(root / "one.tar")}


def arrow_table(data, names=None):
    names = list(data.images) if names is None else names
    images = [{"bytes": data.images[name], "path": name if data.images[name] else None} for name in names]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    return pa.table({"image": pa.array(images, kind), "caption": [data.captions[name] for name in names]})


def put_saved(folder: Path, table: pa.Table) -> None:
    folder.mkdir(parents=True)
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as out,
    ):
        out.write_table(table)
    _json(folder / "state.json", {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    _json(folder / "dataset_info.json", {})


def saved(root, data):
    put_saved(root / "set", arrow_table(data))
    return {"captions": str(root / "set")}


def saved_splits(root, data):
    names = list(data.images)
    put_saved(root / "set" / "train", arrow_table(data, names[:3]))
    put_saved(root / "set" / "test", arrow_table(data, names[3:]))
    _json(root / "set" / "dataset_dict.json", {"splits": ["train", "test"]})
    return {"captions": str(root / "set")}


def repository(root, data):
    (root / "set" / "data").mkdir(parents=True)
    names = list(data.images)
    for number, some in enumerate((names[:3], names[3:])):
        parquet.write_table(arrow_table(data, some), root / "set" / "data" / f"train-{number:05d}-of-00002.parquet")
    (root / "set" / "README.md").write_text("A card")
    return {"captions": str(root / "set")}


def parquet_with_images(root, data):
    parquet.write_table(arrow_table(data), root / "one.parquet")
    return {"captions": str(root / "one.parquet")}


WRITERS = [
    csv_rows, tsv_columns, jsonl_lists, parquet_lists, json_rows, json_lines_called_json, json_by_image, karpathy,
    sharegpt4v, goal, structxlip, folder_with_one_table, urls, image_folder, txt, webdataset_folder, webdataset_braces,
    webdataset_one, saved, saved_splits, repository, parquet_with_images,
]  # fmt: skip
ONE_CAPTION = (txt, webdataset_braces)  # a text file is one caption
OPTIONS = {urls: {"url_column": "url"}}
