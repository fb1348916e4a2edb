"""Streams are divided among tasks evenly, each row once, whatever the moduli of the files."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.lake.buckets import (
    MIXED,
    MOST,
    ROWS,
    bucket_of,
    buckets_of,
    divided,
    division_of,
    modulus_for,
    residues_of,
    tasks_for,
    usual,
)

NAMES = pa.array([f"stream-{k}" for k in range(40_000)])
LAKE = 8
MODULI = st.integers(1, 300)


@given(st.integers(1, 90), MODULI, MODULI, st.integers(1, 64))
def test_each_stream_is_of_one_task_and_its_file_is_read_there(tasks, modulus, of_file, lake):
    names = NAMES.slice(0, 60)
    parts = divided(tasks, modulus)
    assert len(parts) == tasks
    own = residues_of(names, parts[0].modulus)
    shares = [np.isin(own, part.residues) for part in parts]
    assert (np.sum(shares, axis=0) == 1).all()
    files = {
        "new": buckets_of(names, of_file),
        "old": residues_of(names, lake),
        "mixed": np.full(len(names), MIXED),
    }
    for buckets in files.values():
        for part, mine in zip(parts, shares, strict=True):
            for bucket in np.unique(buckets[mine]).tolist():
                assert part.may_have(bucket, lake)


@pytest.mark.parametrize("modulus", [1, 3, LAKE, 64, 4096])
@pytest.mark.parametrize("tasks", [1, 2, 7, 12, 40])
def test_tasks_are_filled_evenly(tasks, modulus):
    parts = divided(tasks, modulus)
    own = residues_of(NAMES, parts[0].modulus)
    filled = [int(np.isin(own, part.residues).sum()) for part in parts]
    assert max(filled) <= 1.3 * len(NAMES) / tasks


@pytest.mark.parametrize(("tasks", "modulus"), [(40, 8), (10, 8), (12, 64), (4, 8), (7, 3)])
def test_hardly_a_file_is_read_by_more_tasks_than_need_be(tasks, modulus):
    parts = divided(tasks, modulus)
    read = sum(part.may_have(bucket_of(modulus, q), LAKE) for part in parts for q in range(modulus))
    assert read <= tasks + modulus


@pytest.mark.parametrize("slots", range(4, 51))
def test_a_hundred_million_rows_are_two_tasks_a_slot(slots):
    assert tasks_for(100_000_000, slots) == 2 * slots


def test_few_rows_are_one_task_a_slot_and_very_many_are_more():
    assert tasks_for(300_000, 2) == 2
    assert tasks_for(10_000_000, 2) == 4
    assert tasks_for(100_000_000, 1) == 8


def test_rows_that_find_much_are_more_tasks_whatever_their_number():
    assert tasks_for(1_000_000, 2, 4_000_000) == 2
    assert tasks_for(1_000_000, 2, 20_000_000) == 5
    assert tasks_for(1, 2, 40_000_001) == 11


def test_a_file_says_its_modulus_and_an_old_one_has_that_of_the_lake():
    assert division_of(bucket_of(40, 39), LAKE) == (40, 39)
    assert division_of(5, LAKE) == (LAKE, 5)
    assert bucket_of(MOST, MOST - 1) < 2**31


def test_the_modulus_grows_with_what_the_lake_holds():
    assert modulus_for(ROWS * LAKE, LAKE) == LAKE
    assert modulus_for(ROWS * LAKE + 1, LAKE) == 2 * LAKE
    assert modulus_for(0, LAKE, tasks=40) == 64
    assert modulus_for(10**15, LAKE) <= MOST


def test_the_usual_modulus_is_that_of_most_rows():
    files = [(MIXED, 1000), (3, 10), (bucket_of(16, 3), 7), (bucket_of(16, 4), 7)]
    assert usual(files, LAKE) == 16
    assert usual([], LAKE) == LAKE
