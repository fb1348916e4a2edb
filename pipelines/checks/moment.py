"""One moment of the lake, and any number of checks of it.

What passed before and has not changed since is not checked again: then neither DuckDB nor Great
Expectations is started. All that is checked shares one session.

Law: the fingerprints are computed before the session opens. So what passes is remembered under the
state that was there, or under one that is gone and never comes again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from types import TracebackType
from typing import Self

import duckdb

from pipelines.checks.contracts import verified
from pipelines.checks.fingerprint import fingerprint
from pipelines.checks.memory import PassedChecks
from pipelines.checks.own import OwnCheck, made, own_checks_of
from pipelines.checks.results import Checked
from pipelines.checks.scope import CheckScope
from pipelines.checks.session import session_of
from pipelines.checks.site import Site
from pipelines.lake.store import Store
from pipelines.lanes import Lane
from pipelines.planning.chain import Epoch
from pipelines.project.settings import Settings
from schemas.expectations import contracts
from schemas.promises import Contract


class Moment:
    """Checks of some lanes, at this moment. A context: findings are stored at its end.

    again  check everything, whatever passed before
    store  the lake, if it was just opened
    of     the tables whose checks are run; None: any
    """

    def __init__(
        self,
        settings: Settings,
        lanes: Iterable[Lane],
        *,
        again: bool = False,
        store: Store | None = None,
        of: Collection[str] | None = None,
    ) -> None:
        """Compute the fingerprints; refuse a lane of feeds that are not declared."""
        self._settings = settings
        self._again = again
        self._of = of
        self._at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._site = Site.of(settings)
        self._store = store or Store.to_read(settings.root, settings.tables)
        self._judged: dict[CheckScope, CheckScope] = {}
        self._keys = {}
        for lane in lanes:
            CheckScope.of(lane, None)
            self._keys[lane] = fingerprint(self._store, lane)
        self._memories = {lane: PassedChecks(settings.root, lane.name) for lane in self._keys}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if "_session" in self.__dict__:
            self._session.close()
        for memory in self._memories.values():
            memory.keep()
        self._site.keep()

    def own(
        self,
        lane: Lane,
        epochs: Sequence[Epoch] | None = None,
        names: Collection[str] | None = None,
    ) -> Iterator[Checked]:
        """Run our own checks of a lane, or those of these names; over some epochs, or all."""
        scope = CheckScope.of(lane, epochs)
        for check in own_checks_of(lane):
            if names is None or check.name in names:
                yield from self._unit(scope, f"own {check.name}", self._own(scope, check))

    def contracts(
        self,
        lane: Lane,
        epochs: Sequence[Epoch] | None = None,
        names: Collection[str] | None = None,
    ) -> Iterator[Checked]:
        """Check a lane's tables, or those of these names, against their contracts."""
        scope = CheckScope.of(lane, epochs)
        for name, contract in contracts(lane.name, self._settings.axes).items():
            if names is None or name in names:
                found = self._unit(scope, f"contract {name}", self._contract(scope, contract))
                yield from self._site.record(scope, name, found, self._at)

    @cached_property
    def _session(self) -> duckdb.DuckDBPyConnection:
        return session_of(self._settings, self._keys, self._of, self._store)

    def _unit(
        self, scope: CheckScope, name: str, make: Callable[[], list[Checked]]
    ) -> list[Checked]:
        """Run the checks of a unit, unless they passed and nothing has changed since."""
        memory = self._memories[scope.lane]
        unit = f"{name}, {'all' if scope.runs is None else 'a run'}"
        key = f"{self._keys[scope.lane]} {scope.words}"
        found = None if self._again else memory.recall(unit, key)
        if found is None:
            found = make()
            memory.note(unit, key, self._at, found)
        return found

    def _contract(self, scope: CheckScope, contract: Contract) -> Callable[[], list[Checked]]:
        return lambda: verified(self._session, scope, contract)

    def _own(self, scope: CheckScope, check: OwnCheck) -> Callable[[], list[Checked]]:
        return lambda: [made(check, self._session, self._settings, self._as_judged(scope))]

    def _as_judged(self, scope: CheckScope) -> CheckScope:
        """Read once what the ledger says of a scope; a check that needs it says why it cannot."""
        if scope not in self._judged:
            try:
                self._judged[scope] = scope.as_judged(self._session)
            except duckdb.Error:
                self._judged[scope] = scope
        return self._judged[scope]
