"""Schedulers of SIA (Anticipatory Resource Allocation for ML Training, SoCC'23) and the paper's baselines."""

from heuristics.sia.baselines import Fcfs, Hived, MaxMinFair, ShortestFirst, Themis, length, service
from heuristics.sia.methods import (
    PLANNED,
    fcfs,
    gssf,
    hived,
    mmfs,
    safe_ssf,
    sia_perfect,
    sia_random,
    sia_random_load,
    sia_sliding,
    sia_vc,
    sia_vc_literal,
    sjf,
    ssf,
    themis,
)
from heuristics.sia.online import ONLINE, EarliestCutoff
from heuristics.sia.predictors import Perfect, Predictor, Random, SlidingMaximum, windows_in_slots
from heuristics.sia.replay import replay
from heuristics.sia.reservations import keep_cutoffs
from heuristics.sia.sia_scheduler import Sia

__all__ = [
    "ONLINE",
    "PLANNED",
    "EarliestCutoff",
    "Fcfs",
    "Hived",
    "MaxMinFair",
    "Perfect",
    "Predictor",
    "Random",
    "ShortestFirst",
    "Sia",
    "SlidingMaximum",
    "Themis",
    "fcfs",
    "gssf",
    "hived",
    "keep_cutoffs",
    "length",
    "mmfs",
    "replay",
    "safe_ssf",
    "service",
    "sia_perfect",
    "sia_random",
    "sia_random_load",
    "sia_sliding",
    "sia_vc",
    "sia_vc_literal",
    "sjf",
    "ssf",
    "themis",
    "windows_in_slots",
]
