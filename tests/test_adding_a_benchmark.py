"""The benchmark that docs/benchmarks.md writes works as it says, and the document names what there is."""

import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from archives import picture

from hnclip.check import check
from hnclip.data import prepare, sources
from hnclip.data.fetch import fetch
from hnclip.data.manifest import read_manifest
from hnclip.data.source_options import Options
from hnclip.study import record

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
KIND, SOURCE, CHANGES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
ENTRIES = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]
ENTRY = next(entry["benchmarks"]["album"] for entry in ENTRIES if "album" in entry.get("benchmarks", {}))
PAIRS = {
    "train/a.jpg": "A boat lies at the pier.",
    "train/b.jpg": "A dog runs.",
    "test/a.JPG": "A kite.",
    "test/c.jpg": "A hill.",
}


def put(monkeypatch, package, folder: Path, code: str) -> None:
    """Let `album.py` with this code in the folder belong to the package for a while, before one that a person wrote."""
    folder.mkdir()
    (folder / "album.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(package, "__path__", [str(folder), *package.__path__])
    sys.modules.pop(f"{package.__name__}.album", None)


def shipped(package, names: list[str]) -> list[str]:
    """Those of the names whose file is known to git; a person's own need no place in the document."""
    folder = Path(package.__file__).parent
    listed = subprocess.run(["git", "ls-files", "."], cwd=folder, capture_output=True, text=True).stdout.split()
    return [name for name in names if f"{name}.py" in listed] if listed else names


@pytest.fixture
def album(tmp_path, monkeypatch):
    """The document's file in place, and the pictures that it reads; the options of its entry."""
    put(monkeypatch, prepare, tmp_path / "kinds", KIND)
    for number, (name, caption) in enumerate(PAIRS.items()):
        image = tmp_path / "album" / name
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(picture(number))
        image.with_suffix(".txt").write_text(caption + "\n", encoding="utf-8")
    yield {"folder": str(tmp_path / "album")}
    sys.modules.pop("hnclip.data.prepare.album", None)
    sys.modules.pop("hnclip.data.sources.album", None)


def config_with(entry: dict) -> dict:
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config["benchmarks"]["album"] = entry
    config["grids"]["main"] |= {"train": ["album"]}
    return config | {"run": ["main"]}


def prepared(options: dict, folder: Path) -> dict:
    prepare.prepare({"name": "album", "kind": "album", "options": options, "splits": ["train", "test"]}, folder)
    return {split: read_manifest(folder / f"{split}.parquet") for split in ("train", "test")}


def test_one_file_makes_a_kind_of_benchmark(tmp_path, album):
    assert "album" in prepare.kinds()
    found = prepared(album, tmp_path / "results" / "data" / "album")
    assert {f"{row.id}": row.caption for frame in found.values() for row in frame.itertuples()} == {
        name[:-4].replace("/", "-"): caption for name, caption in PAIRS.items()
    }


def test_it_names_every_fault_at_once(tmp_path, album):
    (tmp_path / "album" / "train" / "b.txt").unlink()
    (tmp_path / "album" / "train" / "a.txt").write_bytes("Ein Träger.".encode("latin-1"))
    (tmp_path / "album" / "test" / "c.jpg").write_bytes(b"")
    with pytest.raises(ValueError, match=r"(?s)a\.txt: 'utf-8'.*without a text.*b\.jpg.*c\.jpg: the file is empty"):
        prepared(album, tmp_path / "results" / "data" / "album")


def test_one_entry_makes_it_part_of_a_study(album):
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text(encoding="utf-8"))
    check(config_with(ENTRY), schema)
    with pytest.raises(ValueError, match=r"(?s)benchmarks\.album.*foldr.*folder"):
        check(config_with(ENTRY | {"options": {"foldr": "data/album"}}), schema)


def test_a_second_file_makes_a_source(tmp_path, album, monkeypatch):
    put(monkeypatch, sources, tmp_path / "sources", SOURCE)
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        for path in sorted((tmp_path / "album").rglob("*.*")):
            archive.write(path, path.relative_to(tmp_path / "album"))
    downloads = tmp_path / "results" / "downloads" / "album"
    given = Options(files={"album.zip": str(tmp_path / "mine.zip")})
    fetch(sources.source("album"), given, downloads, downloads / sources.RECORD)
    head, line = CHANGES.split("\n# in prepare(options, folder):\n#")
    code = KIND.replace("\n@dataclass", f"{head}\n@dataclass", 1).replace("    folder: str\n", "")
    first = "    problems, pairs ="
    code = code.replace(first, f"    {line.strip()}\n{first}").replace("wanted.folder", "root")
    put(monkeypatch, prepare, tmp_path / "changed", code)
    assert len(prepared({}, tmp_path / "results" / "data" / "album")["train"]) == 2
    entry = ENTRY | {"options": {}}
    assert record(config_with(entry))["downloads"] == {"album": {"album": "results/downloads/album/fetched.json"}}


def test_no_target_follows_a_configfile():
    """It takes every word up to the next option, so that a target there would be read as a config."""
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "workflow" / "studies").glob("*.yaml")]
    given = [
        (path.name, word)
        for path in texts
        for words in re.findall(r"--configfile((?: +[^\s`#-][^\s`]*)+)", path.read_text(encoding="utf-8"))
        for word in words.split()
    ]
    assert ("benchmarks.md", "my_study.yaml") in given
    assert [(name, word) for name, word in given if not re.match(r"[\w./-]+\.yaml\W*$", word)] == []


def test_the_document_names_every_kind_with_its_source_and_counts():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", TEXT, re.MULTILINE))
    kinds = shipped(prepare, prepare.kinds())
    assert {"docci", "folder"} <= set(kinds) <= set(rows)
    for kind in kinds:
        module = import_module(f"hnclip.data.prepare.{kind}")
        assert all(f"`{source}`" in rows[kind] for source in getattr(module, "SOURCES", ()))
        counts = getattr(module, "PUBLISHED", {})
        assert all(f"{count:,}" in rows[kind] for protocol in counts.values() for count in protocol.values())
        assert all(f"`{protocol}`" in rows[kind] for protocol in counts if len(counts) > 1)


def test_the_document_tells_every_licence():
    for name in shipped(sources, sources.names()):
        source = sources.source(name)
        use = "no" if source.noncommercial else "yes"
        assert f"| [`{name}`]({source.homepage}) | {source.licence} | {use} |" in TEXT
        assert all(file.url or file.name in TEXT for file in source.files)


def test_the_examples_of_sources_are_sound():
    (given,) = (entry["sources"] for entry in ENTRIES if "sources" in entry)
    for name, entry in given.items():
        assert Options(**entry).faults(sources.source(name)) == []
