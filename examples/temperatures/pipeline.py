"""How regular are the temperatures of two cities? A pipeline that remembers.

Reads a year of hourly temperatures of Seattle and San Francisco, fits the
yearly and the daily cycle, estimates by a block bootstrap how sure the fit is,
compares the cities, and draws one plot.

Usage: python pipeline.py DATA_FOLDER PLOT.png

Every function that runs appends a line to the file named by ``WITNESS``, so
that one can see what ran, whatever the cache says of itself.
"""

import csv
import io
import json
import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lazycache import cache, hash_by_file_date, pure

Array = NDArray[np.float64]
HOURS_PER_DAY = 24
DAYS_PER_YEAR = 365.25
YEARLY_HARMONICS = 2
DAILY_HARMONICS = 3
BLOCK_DAYS = 7


def witness(line: str) -> None:
    """Tell an independent file that a function ran."""
    if path := os.environ.get("WITNESS"):
        with open(path, "a") as file:
            file.write(line + "\n")


def to_celsius(fahrenheit: Array) -> Array:
    """Convert temperatures."""
    return (fahrenheit - 32.0) / 1.8


@pure(hashers={"filename": hash_by_file_date})
def parse(filename: str) -> Array:
    """Return hourly temperatures, shape (days, 24), in degrees Celsius."""
    witness(f"parse {Path(filename).stem}")
    with open(filename, newline="") as file:
        readings = [float(row["temp"]) for row in csv.DictReader(file)]
    days = len(readings) // HOURS_PER_DAY
    return to_celsius(np.array(readings[: days * HOURS_PER_DAY]).reshape(days, HOURS_PER_DAY))


def design_matrix(days: Array) -> Array:
    """Return the columns of the harmonic model at each hour of `days`, shape (hours, columns)."""
    hours = (days[:, None] * HOURS_PER_DAY + np.arange(HOURS_PER_DAY)).ravel()
    columns = [np.ones_like(hours)]
    for period, harmonics in ((DAYS_PER_YEAR * HOURS_PER_DAY, YEARLY_HARMONICS), (HOURS_PER_DAY, DAILY_HARMONICS)):
        for k in range(1, harmonics + 1):
            columns += [np.cos(2 * np.pi * k * hours / period), np.sin(2 * np.pi * k * hours / period)]
    return np.stack(columns, axis=1)


def amplitudes(hourly: Array, days: Array) -> Array:
    """Fit the model; return mean, yearly and daily amplitude of the first harmonics."""
    coefficients, *_ = np.linalg.lstsq(design_matrix(days), hourly.ravel(), rcond=None)
    first_daily = 1 + 2 * YEARLY_HARMONICS
    yearly = np.hypot(coefficients[1], coefficients[2])
    daily = np.hypot(coefficients[first_daily], coefficients[first_daily + 1])
    return np.array([coefficients[0], yearly, daily])


@pure
def fit(hourly: Array) -> Array:
    """Return mean, yearly amplitude and daily amplitude, in degrees Celsius."""
    witness("fit")
    return amplitudes(hourly, np.arange(len(hourly), dtype=float))


def spread(samples: Array) -> Array:
    """Return how far the samples scatter, column by column."""
    return np.asarray(np.std(samples, axis=0))


@pure
def bootstrap(hourly: Array, resamples: int, seed: int) -> Array:
    """Return the standard errors of `fit`, from resampled weeks."""
    witness("bootstrap")
    random = np.random.default_rng(seed)
    starts = np.arange(0, len(hourly) - BLOCK_DAYS + 1)
    samples = []
    for _ in range(resamples):
        blocks = random.choice(starts, size=len(hourly) // BLOCK_DAYS)
        days = (blocks[:, None] + np.arange(BLOCK_DAYS)).ravel()
        samples.append(amplitudes(hourly[days], days.astype(float)))
    return spread(np.array(samples))


@pure
def compare(first: Array, first_error: Array, second: Array, second_error: Array) -> Array:
    """Return the differences of two cities in units of their standard error."""
    witness("compare")
    return (first - second) / np.hypot(first_error, second_error)


@pure
def figure(seattle: Array, san_francisco: Array, difference: Array) -> bytes:
    """Return the plot as the bytes of a PNG file."""
    witness("figure")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawing, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, hourly in (("Seattle", seattle), ("San Francisco", san_francisco)):
        left.plot(np.arange(len(hourly)), hourly.mean(axis=1), label=name, linewidth=0.9)
        right.plot(np.arange(HOURS_PER_DAY), hourly.mean(axis=0), label=name)
    left.set(
        xlabel="day of the year", ylabel="mean of the day (°C)", title=f"yearly cycle: {difference[1]:.1f} errors apart"
    )
    right.set(
        xlabel="hour of the day", ylabel="mean of the hour (°C)", title=f"daily cycle: {difference[2]:.1f} errors apart"
    )
    left.legend()
    buffer = io.BytesIO()
    drawing.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    pyplot.close(drawing)
    return buffer.getvalue()


def main(data: Path, plot: Path, resamples: int = 300) -> dict[str, list[float]]:
    """Build the pipeline, evaluate it through the cache, write the plot."""
    seattle = parse(str(data / "seattle-temps.csv"))
    san_francisco = parse(str(data / "sf-temps.csv"))
    errors = [bootstrap(city, resamples, seed=1) for city in (seattle, san_francisco)]
    fits = [fit(city) for city in (seattle, san_francisco)]
    difference = compare(fits[0], errors[0], fits[1], errors[1])
    results = {
        "seattle": fits[0],
        "san francisco": fits[1],
        "difference": difference,
        "warmest day": seattle.mean(axis=1).max(),
        "plot": figure(seattle, san_francisco, difference),
    }
    values = cache(results)
    plot.write_bytes(values.pop("plot"))
    return {name: np.atleast_1d(value).tolist() for name, value in values.items()}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
