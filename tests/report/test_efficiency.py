"""Speed, memory and inputs of every framework, against the made-up run records."""

import dataclasses

import pandas
import pytest

from hnclip.report.efficiency_table import efficiency_table
from hnclip.report.writer import markdown


@pytest.fixture(scope="module")
def rows(study) -> pandas.DataFrame:
    return efficiency_table(study)[1].set_index(["framework", "loss"])


def test_speed_is_the_median_of_the_cells_on_all_data(study, rows):
    assert rows["images_per_second"][("longclip", "infonce")] == 80 + 2 and rows["cells"][("longclip", "infonce")] == 3
    assert rows["images_per_second"][("finelip", "hn")] == 20 + 1.5 and rows["cells"][("finelip", "hn")] == 2
    fast = study.runs.assign(pairs_per_second=study.runs["pairs_per_second"].where(study.runs["fraction"] == 100, 1e6))
    assert efficiency_table(dataclasses.replace(study, runs=fast))[1].equals(rows.reset_index()[efficiency_columns()])


def efficiency_columns() -> list[str]:
    return (
        "backbone train framework loss label device cells images_per_second relative memory_bytes inputs "
        "preparation_seconds trained_parameters"
    ).split()


def test_speed_is_relative_to_plain_longclip(rows):
    assert rows["relative"][("longclip", "infonce")] == 1 and rows["relative"][("finelip", "infonce")] == 21.5 / 82


def test_memory_is_less_its_baseline(rows):
    assert rows["memory_bytes"][("hnclip", "hn")] == (950 - 300) * 2**20


def test_inputs_are_named_with_the_sum_of_their_seconds(study, rows):
    assert rows["inputs"][("finelip", "hn")] == "crops first" and rows["preparation_seconds"][("finelip", "hn")] == 32.5
    assert rows["inputs"][("longclip", "hn")] == "" and rows["preparation_seconds"][("longclip", "hn")] == 0
    assert rows["trained_parameters"][("finelip", "hn")] == 1500
    table = efficiency_table(study)[0][0]
    assert table.rows[-1] == "finelip|boosted, γ = 0.5|crops, first|32.5|21.5|0.26|900|1,500|2".split("|")
    notes = " ".join(table.notes)
    assert "Device: cpu; CPU threads a cell: 1." in notes and "How many cells ran at once" in notes
    assert "counted for each that uses it" in notes and "Memory on a GPU" not in notes


def test_a_study_without_longclip_has_no_relative_speed(study):
    ranks = study.ranks[study.ranks["framework"] != "longclip"]
    tables, rows = efficiency_table(dataclasses.replace(study, ranks=ranks))
    assert rows["relative"].isna().all() and {row[5] for row in tables[0].rows} == {"–"}
    assert not any(note.startswith("Relative") for note in tables[0].notes)


def test_a_gpus_memory_has_no_baseline_and_devices_stand_apart(study):
    on_gpu = (study.runs["framework"] == "hnclip") & (study.runs["seed"] > 1)
    runs = study.runs.assign(device=study.runs["device"].where(~on_gpu, "Some GPU"))
    tables, rows = efficiency_table(dataclasses.replace(study, runs=runs))
    here = rows[(rows["framework"] == "hnclip") & (rows["loss"] == "hn")].set_index("device")
    assert here["memory_bytes"].to_dict() == {"Some GPU": 950 * 2**20, "cpu": 650 * 2**20}
    assert here["cells"].to_dict() == {"Some GPU": 2, "cpu": 1} and pandas.isna(here["relative"]["Some GPU"])
    assert tables[0].header[2] == "device" and "Device: Some GPU, cpu;" in " ".join(tables[0].notes)


def test_what_a_record_does_not_hold_is_a_dash(study):
    runs = study.runs.assign(baseline_memory_bytes=None, trained_parameters=None, pairs_per_second=None, threads=None)
    table = efficiency_table(dataclasses.replace(study, runs=runs))[0][0]
    assert all(row[4:8] == ["–"] * 4 for row in table.rows)


def test_a_study_without_cells_says_so(study):
    ranks = study.ranks[study.ranks["framework"] == "zero_shot"]
    tables, rows = efficiency_table(dataclasses.replace(study, ranks=ranks))
    assert rows.empty and "|" not in markdown(tables) and "no cell on all training data" in tables[0].notes[0]
