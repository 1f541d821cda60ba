"""Reductions that leave NaN out: numpy's ``nansum`` and its kin."""

from __future__ import annotations

import numpy as np

from lazycache.array.reductions import extremes, means, positions, running_totals, spreads, totals
from lazycache.array.statistics import medians, quantiles

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
    "nanprod", "nanquantile", "nanstd", "nansum", "nanvar",
]  # fmt: skip

nansum = totals("nansum", np.add)
nanprod = totals("nanprod", np.multiply)
nanmax = extremes("nanmax", np.fmax)
nanmin = extremes("nanmin", np.fmin)
nanmean = means("nanmean")
nanmedian = medians("nanmedian")
nanstd = spreads("nanstd")
nanvar = spreads("nanvar")
nanargmax = positions("nanargmax")
nanargmin = positions("nanargmin")
nancumsum = running_totals("nancumsum", np.add, False)
nancumprod = running_totals("nancumprod", np.multiply, False)
nanquantile = quantiles("nanquantile", 1)
nanpercentile = quantiles("nanpercentile", 100)
