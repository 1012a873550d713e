"""From entry to term: zero strengths, label smoothing, duplicates and the tables that are needed."""

import pytest
import torch
from by_loops import infonce
from drawn_pairs import CLASSES, SAME, SETTINGS, N, drawn, gradients

from hnclip.losses.contrastive import info_nce
from hnclip.losses.entry import STRENGTH, LossEntry
from hnclip.losses.objective import BASES, BOOSTS, Tables, contrastive

IDS = torch.tensor([3, 1, 4, 0, 5, 2])
TABLES = Tables(torch.nn.functional.normalize(torch.arange(24.0).view(6, 4).sin(), dim=-1), torch.arange(6))


def term(tables=TABLES, **entry):
    return contrastive(LossEntry(**entry), torch.Generator().manual_seed(1), tables)


def equal(one, other, leaves):
    return torch.equal(one, other) and all(map(torch.equal, gradients(one, leaves), gradients(other, leaves)))


@pytest.mark.parametrize("boost", BOOSTS)
@pytest.mark.parametrize(("base", "keys"), SETTINGS)
def test_a_boost_of_no_strength_is_none_to_the_bit(base, keys, boost):
    leaves = drawn(dtype=torch.float32)
    bare = term(base=base, **keys)(*leaves, IDS)
    boosted = term(base=base, boost=boost, **{STRENGTH[boost]: 0.0}, **keys)(*leaves, IDS)
    assert equal(bare, boosted, leaves)
    assert not torch.equal(bare, term(base=base, boost=boost, **{STRENGTH[boost]: 0.5}, **keys)(*leaves, IDS))


@pytest.mark.parametrize("boost", BOOSTS)
@pytest.mark.parametrize(("base", "keys"), SETTINGS)
def test_no_gradient_flows_through_a_boost(base, keys, boost):
    leaves = drawn()
    strength = {STRENGTH[boost]: 0.5}
    table = {"table_MD": TABLES.frozen_MD} if boost == "frozen" else {}
    fixed_NN = BOOSTS[boost](*leaves[:2], IDS, torch.Generator().manual_seed(1), **strength, **table)
    live = term(base=base, boost=boost, **strength, **keys)(*leaves, IDS)
    assert equal(live, BASES[base](*leaves, fixed_NN.clone(), **keys), leaves)


@pytest.mark.parametrize("boost", ["none", *BOOSTS])
def test_a_mask_over_captions_that_all_differ_changes_nothing(boost):
    leaves = drawn(dtype=torch.float32)
    entry = {} if boost == "none" else {"boost": boost, STRENGTH[boost]: 0.5}
    for smoothing in (0.0, 0.1):
        bare = term(**entry)(*leaves, IDS, label_smoothing=smoothing)
        assert equal(bare, term(**entry, mask_duplicates=True)(*leaves, IDS, label_smoothing=smoothing), leaves)


def test_a_duplicate_is_found_by_its_number_in_the_manifest():
    leaves = drawn()
    classes_M = torch.zeros(6, dtype=torch.int64).scatter(0, IDS, CLASSES)  # those of the batch, in its order
    masked = term(Tables(text_class_M=classes_M), mask_duplicates=True)(*leaves, IDS)
    torch.testing.assert_close(masked, infonce(*leaves, torch.zeros(N, N), SAME))
    assert masked < term()(*leaves, IDS)


@pytest.mark.parametrize("smoothing", [0.05, 0.3])
def test_smoothing_leaves_duplicates_out_too(smoothing):
    leaves = drawn()
    masked = term(Tables(text_class_M=CLASSES), mask_duplicates=True, label_smoothing=smoothing)
    ours, theirs = masked(*leaves, torch.arange(N)), infonce(*leaves, torch.zeros(N, N), SAME, smoothing)
    torch.testing.assert_close(ours, theirs)
    for one, other in zip(gradients(ours, leaves), gradients(theirs, leaves), strict=True):
        torch.testing.assert_close(one, other)


def test_smoothing_of_the_entry_wins_over_the_methods_own():
    leaves = drawn()
    for entry, method, expected in [(0.0, 0.1, 0.1), (0.2, 0.1, 0.2), (0.2, 0.0, 0.2)]:
        found = term(label_smoothing=entry)(*leaves, IDS, label_smoothing=method)
        assert torch.equal(found, info_nce(*leaves, label_smoothing=expected))


@pytest.mark.parametrize(("base", "keys"), [setting for setting in SETTINGS if setting[0] != "infonce"])
def test_other_bases_smooth_no_labels(base, keys):
    leaves = drawn()
    assert torch.equal(
        term(base=base, **keys)(*leaves, IDS, label_smoothing=0.1), term(base=base, **keys)(*leaves, IDS)
    )


def test_what_needs_a_table_says_so():
    with pytest.raises(ValueError, match="`frozen` needs the cached embeddings"):
        term(None, boost="frozen", gamma=0.5)
    with pytest.raises(ValueError, match="`mask_duplicates` needs the class of each training caption"):
        term(None, mask_duplicates=True)
