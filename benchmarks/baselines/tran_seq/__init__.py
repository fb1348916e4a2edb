"""Tran-Seq as S1 prints it: two linked lists and two hash tables."""

from benchmarks.baselines.tran_seq.tran_seq import TranSeq

__all__ = ["TranSeq"]
