"""Dropping what a store holds: plan, look at the plan, carry it out.

Nothing is dropped unless the limits ask for it.
"""

from lazycache_storage.gc.leftovers import Leftover
from lazycache_storage.gc.limits import GcLimits
from lazycache_storage.gc.plan import Drop, GcPlan, Group, Kept, plan_gc
from lazycache_storage.gc.results import Results
from lazycache_storage.gc.run import GcResult, run_gc
from lazycache_storage.gc.survey import Survey, result_number, take_survey
from lazycache_storage.gc.totals import FunctionTotals, Totals, take_totals
from lazycache_storage.gc.trim import Trimmer, collect

__all__ = [
    "Drop",
    "FunctionTotals",
    "GcLimits",
    "GcPlan",
    "GcResult",
    "Group",
    "Kept",
    "Leftover",
    "Results",
    "Survey",
    "Totals",
    "Trimmer",
    "collect",
    "plan_gc",
    "result_number",
    "run_gc",
    "take_survey",
    "take_totals",
]
