"""``lazycache gc``, which is ``lazycache-gc``."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from lazycache import settings
from lazycache.cli.app import (
    AGE,
    INTERRUPTED,
    SIZE,
    Command,
    function_option,
    json_option,
    open_store,
    place,
    store_option,
)
from lazycache.cli.output import ProgressBar, print_json, print_table, say, size_text, time_text
from lazycache.telling import period_text
from lazycache_storage.gc import GcLimits, GcPlan, GcResult, plan_gc, run_gc

if TYPE_CHECKING:
    from lazycache_storage.store import Store


@click.command(
    cls=Command,
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Drop results by size, age or function.",
)
@click.option("--max-size", type=SIZE, help="Keep the store below a size; what is cheap to get back goes first.")
@click.option("--max-age", type=AGE, help="Drop what was computed longer ago.")
@click.option("--unused-for", type=AGE, help="Drop what was last used longer ago.")
@function_option("Drop results of these functions; with another criterion, only theirs")
@click.option("--stale-code", is_flag=True, help="Drop results of code that was edited since, helpers included.")
@click.option("--missing-inputs", is_flag=True, help="Drop results of files that are gone.")
@click.option("--orphans", is_flag=True, help="Remove objects that no entry needs.")
@click.option("--all", "everything", is_flag=True, help="Drop everything; asks first.")
@click.option("--dry-run", "-n", is_flag=True, help="Tell what would go, and change nothing.")
@click.option("--simulate", is_flag=True, help="Tell by function what would be kept, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@json_option
@store_option
@click.version_option(package_name="lazycache")
def gc(store_path: str | None, dry_run: bool, simulate: bool, yes: bool, as_json: bool, **scope: Any) -> None:
    """Drop entries from the cache, and what killed processes left behind.

    Criteria add up; --function with another criterion narrows it. Pinned
    entries stay. Without any criterion the configured limits are enforced
    (LAZYCACHE_MAX_SIZE, LAZYCACHE_MAX_AGE, LAZYCACHE_UNUSED_FOR, or max_size,
    max_age, unused_for in [tool.lazycache]); if there are none, this reports
    and changes nothing.

    \b
    lazycache-gc --max-size 50GB --dry-run
    lazycache-gc --max-size 50GB --simulate
    lazycache-gc --function 'ingest.*' --unused-for 30d
    lazycache-gc --stale-code --missing-inputs

    Exit codes: 0 done; 1 failed; 2 usage, or --all without a confirmation; 130
    interrupted.
    """
    dry_run = dry_run or simulate
    limits = GcLimits(**scope)
    if not limits.asks_for_anything:
        limits = GcLimits(**settings.limits()._asdict())
    is_report = not limits.asks_for_anything
    must_ask = limits.everything and not (yes or dry_run)
    if must_ask and not sys.stdin.isatty():
        raise click.UsageError("--all drops everything: add --yes to confirm, or --dry-run to look first")
    nothing = _document(place(store_path)[0], _empty_plan(limits), None) if as_json else None
    store = open_store(store_path, read_only=dry_run or is_report, nothing=nothing)
    plan = plan_gc(store, replace(limits, orphans=True) if is_report else limits)
    if must_ask:
        question = f"Drop {_results(plan.results)} ({size_text(plan.freed_bytes)}) from {store.path}?"
        click.confirm(question, abort=True, err=True)
    result = None if dry_run or is_report else _run(store, plan)
    if as_json:
        print_json(_document(store.path, plan, result))
    else:
        if simulate:
            _show_kept(plan)
        _report(store, plan, result, is_report=is_report, groups=not simulate)


def _run(store: "Store", plan: GcPlan) -> GcResult:
    """Carry a plan out, with a bar on a terminal if that takes long."""
    done = GcResult()

    def note(result: GcResult) -> None:
        nonlocal done
        done = result
        bar.show(result.dropped + result.survived + result.objects)

    with ProgressBar("dropping", len(plan.rows) + len(plan.orphans)) as bar:
        try:
            return run_gc(store, plan, on_step=note)
        except KeyboardInterrupt:
            say(f"stopped after {done.dropped} of {len(plan.rows)} entries; the store is good, the rest is still there")
            raise click.exceptions.Exit(INTERRUPTED) from None


def _show_kept(plan: GcPlan) -> None:
    if plan.kept:
        print_table(
            ("function~", "keeps>", "size>", "took to compute>-"),
            (
                (
                    kept.function,
                    f"{kept.results} of {kept.of_results}",
                    size_text(kept.nbytes),
                    f"{period_text(kept.seconds)} of {period_text(kept.of_seconds)}",
                )
                for kept in plan.kept
            ),
        )


def _report(store: "Store", plan: GcPlan, result: GcResult | None, *, is_report: bool, groups: bool) -> None:
    say(f"store: {store.path}")
    if groups and plan.groups:
        print_table(
            ("function~", "why", "results>", "frees>", "took to compute>-"),
            (
                (group.function, group.reason, str(group.results), size_text(group.nbytes), period_text(group.seconds))
                for group in plan.groups
            ),
        )
    verb = "would drop" if result is None else "dropped"
    if not is_report:
        say(f"{verb} {_results(plan.results)}: {size_text(plan.freed_bytes)} of {size_text(plan.total_bytes)}")
    if result is not None and result.survived:
        say(f"{result.survived} entries stay, since they were used, written or removed by others meanwhile")
    pinned = f", {plan.pinned_results} of them pinned" if plan.pinned_results else ""
    say(
        f"{'holds' if is_report else 'leaves'} {_results(plan.kept_results)}: {size_text(plan.remaining_bytes)}{pinned}"
    )
    for name, things, nbytes in (
        ("objects that no entry needs", plan.orphans, plan.orphan_bytes),
        ("things left behind by killed processes", plan.leftovers, plan.leftover_bytes),
    ):
        if things:
            say(f"{'there are' if result is None else 'removed'} {len(things)} {name}: {size_text(nbytes)}")
    if plan.unreadable:
        say(f"{plan.unreadable} entries cannot be read: run `lazycache verify`")
    limit = plan.limits.max_size
    if limit is not None and plan.remaining_bytes > limit:
        say(f"still above {size_text(limit)}: only pinned results, or ones of other functions, are left")
    if is_report:
        say("no limit is set and none was asked for: nothing was changed (see `lazycache-gc --help`)")
    elif result is None:
        say("dry run: nothing was changed")


def _empty_plan(limits: GcLimits) -> GcPlan:
    none = np.empty(0, int)
    return GcPlan(limits, 0.0, none, none, [], (), (), 0, 0, 0, 0, 0, 0, (), (), 0)


def _document(path: str, plan: GcPlan, result: GcResult | None) -> dict[str, Any]:
    return {
        "store": path,
        "changed": result is not None,
        "results": {"dropped": plan.results, "kept": plan.kept_results, "pinned": plan.pinned_results},
        "bytes": {"before": plan.total_bytes, "freed": plan.freed_bytes, "after": plan.remaining_bytes},
        "groups": [group._asdict() for group in plan.groups],
        "kept": [kept._asdict() for kept in plan.kept],
        "entries": [
            {
                "key": drop.key.hex(),
                "function": drop.function,
                "reason": drop.reason,
                "seconds": drop.seconds,
                "uses": drop.uses,
                "last_used": time_text(drop.last_used),
            }
            for drop in plan.drops()
        ],
        "orphans": {"count": len(plan.orphans), "bytes": plan.orphan_bytes},
        "leftovers": {"count": len(plan.leftovers), "bytes": plan.leftover_bytes},
        "unreadable": plan.unreadable,
        "survived": None if result is None else result.survived,
    }


def _results(count: int) -> str:
    return f"{count} result" if count == 1 else f"{count} results"
