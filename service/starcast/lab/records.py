"""The operations on records (best known objects): search, list, verify, prove and store them."""

from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from starcast.lab.connection import Connection
from starcast.lab.signature import (
    ShardFiles,
    ShardName,
    Shell,
    TopologyName,
    check_suffix,
    read_topology,
)
from starcast.support.errors import LimitError, NotFoundError, RejectedError, unreadable
from starcast.support.integers import MAX_INTEGER, check_count
from starcast.support.table import Facts, Table
from starcast.support.text import pluralize
from starcast.support.vocabulary import MAX_ARGUMENT, Engine

if TYPE_CHECKING:
    from starcast.records import Record
    from starcast.search.running import SearchTask
    from starcast.topologies import Topology

ProblemName = Annotated[str, Shell(metavar="PROBLEM", completes="problems")]
SomeProblem = Annotated[str | None, Shell(metavar="PROBLEM", completes="problems")]
Topologies = Annotated[
    "str | Path | Topology", Shell(str, metavar="TOPOLOGY", completes="topologies", required=True)
]
Congestion = Annotated[int | None, Shell(least=1, most=MAX_ARGUMENT)]
Folder = Annotated[Path | None, Shell(default="the folder 'records' in the home directory")]
Seconds = Annotated[float, Shell(least=0.1)]
OutputFile = Annotated[Path | None, Shell(metavar="FILE")]
_PROOF_SECONDS = 300.0


class Records(Connection):
    """Operations on records, the best known solutions of problems. Few operations need a server."""

    def search(
        self,
        problem: ProblemName,
        *topologies: Topologies,
        congestion: Congestion = None,
        timeout: Seconds = 60.0,
        memory: Annotated[int, Shell(least=100)] = 4_000,
        seed: Annotated[int, Shell(least=0, most=MAX_INTEGER)] = 0,
        seeds: Annotated[int, Shell(least=1, most=10_000)] = 1,
        jobs: Annotated[int | None, Shell(least=1, most=256, default="1")] = None,
        engine: Engine = "cadical",
        folder: Folder = None,
        fresh: bool = False,
        executor: Executor | None = None,
        shard: ShardName = None,
        out: Path | None = None,
    ) -> Table:
        """Search for the best solution of a problem, or for a proof that no better solution exists.

        A record is the best known solution of a problem on a topology, with its value and the best
        proved bound on this value. The search starts from the record, and writes each improvement
        to the folder of your records: repeat an interrupted search to continue it. No server is
        needed; most problems need the extra starcast[search]. ``starcast records show`` prints all
        details of a record.

        In a shell, the exit code is 7 if the time limit ends the search before value and bound
        agree. The exit code is 8 if they agree, but the bound has no proof, only the agreement
        of two solvers.

        Each combination of a problem, a topology and a random seed is one search. Searches run one
        after another, unless ``executor`` or ``shard`` distributes them; a single search is not
        divided.

        Args:
            problem: a problem, such as one-port-broadcast, or several problems, separated by
                commas; ``starcast records problems`` lists them.
            topologies: topologies, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4.
            congestion: maximum number of trees that may use a directed link, for the problem
                congestion-trees.
            timeout: time limit of each search in seconds.
            memory: memory limit of each process in MB.
            seed: random seed of the first search of each problem on each topology. Further
                processes and searches use the following integers as seeds.
            seeds: number of searches of each problem on each topology, with different random seeds.
            jobs: number of processes of each search, each with a different random seed.
            engine: program that solves the formulas of a search: the SAT solver cadical, or the
                constraint solver cp-sat.
            folder: folder with your own records.
            fresh: do not start the search from the best known record. Only a better record replaces
                that record.
            executor: a `concurrent.futures.Executor` that runs the searches (default: this
                process).
            shard: divide the searches into N parts, run only part I, and write the results to
                ``out`` instead of the folder of records; ``starcast records merge`` merges the N files.
            out: output file of ``shard``, such as part.json or part.json.gz.

        Returns:
            The best record of each problem and topology. ``failure`` is an error if value and bound
            of a record differ, or if a bound has no proof but two solvers agree on it; otherwise
            None.

        Raises:
            InputError: a problem, topology or argument is unknown, a random seed is out of range,
                or the problem is not defined on a topology.
            LimitError: a topology is too large for the problem, or a search does not fit into
                memory.
            UnavailableError: a solver is not installed.

        Example:
            >>> lab.search("congestion-trees", "S4", congestion=3)["value"]
            [4]

            $ starcast search one-port-broadcast S5
            $ starcast search edge-disjoint-trees S4 --timeout 300 --jobs 2
            $ starcast search congestion-trees S4 --congestion 3
            $ starcast search one-port-broadcast,bisection-width S6 S7 --seeds 4 --shard 1/8 --out part-1.json
        """  # noqa: E501 - a command to copy
        from starcast.records.files import as_table
        from starcast.search import Budget, find_trusted
        from starcast.search.proofs import find_unsettled, proof_limits
        from starcast.search.running import plan_searches, run_searches, search_shard
        from starcast.support.shards import parse_shard

        part = parse_shard(shard, out)
        processes = 1 if jobs is None else check_count("jobs", jobs)
        # Each search runs in `processes` processes, and each process uses its own seed. The first
        # seeds of successive searches therefore differ by `processes`.
        numbers = range(seed, seed + check_count("seeds", seeds) * processes, processes)
        networks = [read_topology(each) for each in topologies]
        tasks = plan_searches(problem.split(","), networks, _arguments(congestion), numbers)
        # Each search uses the budget with its own seed. The largest seed is passed here, so that
        # `Budget` checks that all seeds are in the permitted range.
        budget = Budget(timeout, memory, numbers[-1], processes, engine, self.reporter)

        def find_known(task: "SearchTask") -> "Record | None":
            subject = task.problem, task.topology, dict(task.arguments)
            folders = [] if fresh else self._folders(folder)
            return find_trusted(folders, *subject, proof_limits(budget))

        if part is not None and out is not None:
            found = search_shard(tasks, part, out, budget, find_known, executor)
            done = pluralize(len(found), "search", "searches")
            return as_table(_newest(found), f"shard {part}: {done} written to {out}")
        keep = partial(self._keep, folder)
        results = run_searches(tasks, budget, find_known, keep, executor)
        records = _newest([record for _, record in results])
        return as_table(records, failure=find_unsettled(records, timeout))

    def problems(self) -> Table:
        """List the search problems with their questions, formulas and symmetries."""
        from starcast.records.model import PROBLEMS as SENSES
        from starcast.search import PROBLEMS

        columns = ("problem", "question", "sense", "variables", "constraints", "symmetry")
        texts = ("question", "variables", "constraints", "symmetry")
        rows = [
            {text: getattr(each, text) for text in texts} | {"problem": name, "sense": SENSES[name]}
            for name, each in PROBLEMS.items()
        ]
        return Table.of(rows, columns, spare=("constraints", "variables", "symmetry"))

    def records(
        self, problem: SomeProblem = None, *, stored: bool = False, folder: Folder = None
    ) -> Table:
        """List the best known records: the records shipped with starcast, or your own if better.

        On a terminal, one line can summarize the records of a range of topologies; --all shows one
        line per record.

        Args:
            problem: list only the records of this problem.
            stored: list the records in PostgreSQL instead of the records in files, with the result
                of checking each bound.
            folder: folder with your own records.

        Raises:
            InputError: the problem is unknown, or a record file is damaged.

        Example:
            >>> lab.records("one-port-broadcast")["value"][:3]
            [3, 5, 8]

            $ starcast records list
            $ starcast records list one-port-broadcast --format json
        """
        from starcast.records.files import as_summary, load_files
        from starcast.search import find_problem
        from starcast.stores.database.records import list_stored

        if problem is not None:
            find_problem(problem)
        if stored:
            with self._session() as session:
                return list_stored(session, problem)
        records = load_files(self._folders(folder))
        return as_summary(each for each in records if problem in (None, each.problem))

    def show_record(
        self,
        problem: ProblemName,
        topology: TopologyName,
        *,
        congestion: Congestion = None,
        folder: Folder = None,
    ) -> Facts:
        """Show a record's value and bound, the reason for the bound, and the record's searches.

        Args:
            problem: a problem, such as one-port-broadcast.
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            congestion: maximum number of trees that may use a directed link, for the problem
                congestion-trees.
            folder: folder with your own records.

        Raises:
            InputError: the problem is unknown, or a record file is damaged.
            NotFoundError: no record of the problem on the topology exists.

        Example:
            >>> lab.show_record("one-port-broadcast", "S5")["value"]
            8

            $ starcast records show one-port-broadcast S5
        """
        from starcast.records.files import record_facts

        return Facts(record_facts(self._known(problem, topology, congestion, folder)))

    def verify_records(
        self,
        *files: Annotated[Path, Shell(metavar="FILES")],
        proofs: bool = True,
        proof_timeout: Seconds = _PROOF_SECONDS,
        folder: Folder = None,
    ) -> Table:
        """Verify records: each solution against its definition, each bound by theory or a proof.

        In a shell, the exit code is 6 if a record is wrong, and 8 if a bound could not be verified.

        The solution (witness) is checked by code that is independent of the searches. If the
        bound does not follow from theory or from a certificate of inequalities, its LRAT proof is
        regenerated and checked. The result is "verified", or "rejected" if the record is wrong. The
        result is "not made again" if the proof was not regenerated, for example because ``proofs``
        is false or the time limit was reached. The result is "not checked" if no proof is known,
        but two solvers agree on the bound.

        Args:
            files: JSON files of records (default: all records).
            proofs: regenerate the proofs of bounds, which may take a long time.
            proof_timeout: time limit of each proof in seconds.
            folder: folder with your own records.

        Returns:
            A row for each record: the results of the checks, and the programs that accepted the
            proof.

        Raises:
            InputError: a record file is damaged.

        Example:
            >>> lab.verify_records(Path("mine/bisection-width/S6.json"))["verification"]
            ['verified']

            $ starcast records verify
            $ starcast records verify mine/bisection-width/S6.json --no-proofs
        """
        from starcast.records import load_record
        from starcast.records.files import load_files
        from starcast.search import Budget
        from starcast.search.proofs import check_records, tabulate_checks

        records = [load_record(file) for file in files] or load_files(self._folders(folder))
        budget = Budget(proof_timeout) if proofs else None
        return tabulate_checks(list(check_records(records, budget, self.reporter)))

    def prove_record(
        self,
        problem: ProblemName,
        topology: TopologyName,
        *,
        congestion: Congestion = None,
        out: OutputFile = None,
        formula: OutputFile = None,
        proof: OutputFile = None,
        proof_timeout: Seconds = _PROOF_SECONDS,
        folder: Folder = None,
    ) -> Facts:
        """Regenerate the proof of a record's bound, and check it with an independent program.

        The proof shows that a formula has no solution, which implies the bound. The formula (in
        DIMACS format) and the proof (in LRAT format) can be written to files for other checkers. If
        the formally verified checker cake_lpr is on the PATH, it must accept the regenerated proof
        too.

        Args:
            problem: a problem, such as fault-diameter.
            topology: a topology, such as the star graph S5, the (n,k)-star S6,3 or the hypercube
                Q4, or a file with a network.
            congestion: maximum number of trees that may use a directed link, for the problem
                congestion-trees.
            out: write the LRAT proof to this file.
            formula: write the formula in DIMACS format to this file.
            proof: check the LRAT or DRAT proof in this file instead of generating one.
            proof_timeout: time limit of the proof in seconds.
            folder: folder with your own records.

        Returns:
            The proved statement, and the name of the checker that accepted its proof.

        Raises:
            InputError: the problem is unknown, or a file cannot be read or written.
            NotFoundError: no record of the problem on the topology exists.
            RejectedError: the record has no proof, or the checker rejects the proof.
            LimitError: the proof takes longer than the time limit, or memory ran out.
            UnavailableError: python-sat or, for a DRAT proof, dratify is not installed.

        Example:
            $ starcast records prove fault-diameter S5 --formula s5.cnf --out s5.lrat
            $ starcast records prove fault-diameter S5 --proof s5.lrat
        """
        from starcast.records import verify
        from starcast.search import Budget, check_record_proof, prove_again
        from starcast.search.proofs import compare_proof, formula_of
        from starcast.support.atomic import atomic_write

        if out is not None:
            check_suffix(out, ".lrat")
        record = self._known(problem, topology, congestion, folder)
        verify(record)
        facts = {"id": record.id, "statement": record.proof and record.proof.statement}
        if formula is not None:
            with atomic_write(formula) as file:
                file.write(formula_of(record).dimacs().encode())
        if proof is not None:
            checker = check_record_proof(record, _read_proof(proof))
            sentence = f"{checker} accepts {proof}: {facts['statement']}"
            return Facts(facts | {"checker": checker}, sentence)
        refutation = prove_again(record, Budget(proof_timeout, reporter=self.reporter), out)
        if refutation is None:
            raise LimitError(
                f"the proof of {record.id} takes more than {proof_timeout:g} s, or its file is too"
                " large",
                hint="increase `proof_timeout`",
            )
        if remark := compare_proof(record, refutation):
            self.reporter.say(remark)
        sentence = f"{refutation.checker} accepts the proof of {refutation.size / 1000:,.0f} kB"
        return Facts(facts | refutation._asdict(), f"{sentence}: {facts['statement']}")

    def bound_broadcasts(
        self, *, most: Annotated[int, Shell(least=3, most=200)] = 120, folder: Folder = None
    ) -> Table:
        """Compare bounds on the number of steps of one-port broadcasts on S3, S4, ...

        The lower bound follows from the number of nodes that can be informed in each step. The
        upper bound for S_n is the number of steps of the best known schedule, if S_n has a record.
        Otherwise, it is the upper bound for S_(n-1) plus 1 + ceil(log2(n-1))
        (docs/one-port-conjecture.md).

        Args:
            most: the largest n of the table.
            folder: folder with your own records.

        Returns:
            A row for each n: the bounds, ceil(log2 n!), and the published upper bound, the sum of
            ceil(log2 i) for 2 <= i <= n.

        Example:
            $ starcast records bounds --most 120
        """
        from starcast.search.broadcast import tabulate_bounds
        from starcast.search.keeping import find_trusted

        folders = self._folders(folder)

        def find_value(n: int) -> int | None:
            record = find_trusted(folders, "one-port-broadcast", f"S{n}", {})
            return record.value if record else None

        rows = tabulate_bounds(most, find_value)
        return Table.of(rows, rows[0])

    def merge_records(
        self,
        *files: ShardFiles,
        proofs: bool = True,
        proof_timeout: Seconds = _PROOF_SECONDS,
        folder: Folder = None,
    ) -> Table:
        """Merge the files of sharded searches; keep each record that improves on the known record.

        For each problem and topology, the best value and the best bound are combined with the known
        record; solutions and bounds are verified first. Incomplete, overlapping or damaged shards,
        and shards from another version of starcast, are refused. In a shell, the exit code is 8 if
        a bound was not used because its proof was not regenerated.

        Args:
            files: the files of all N shards, as written by ``starcast search --shard``.
            proofs: regenerate the proofs of bounds; otherwise only bounds from theory are used.
            proof_timeout: time limit of each proof in seconds.
            folder: folder with your own records.

        Returns:
            The best record of each problem and topology. ``failure`` is an error if a bound was not
            used, else None.

        Raises:
            InputError: the files are not all shards of one list of searches, or are damaged.
            RejectedError: the shards were computed by another version of the code, or a solution or
                bound is wrong.

        Example:
            $ starcast records merge part-*.json
        """
        from starcast.records.files import as_table
        from starcast.records.model import improve_record
        from starcast.search import Budget, find_trusted
        from starcast.search.proofs import find_failure
        from starcast.search.running import merge_searches

        budget = Budget(proof_timeout, reporter=self.reporter) if proofs else None
        checked = merge_searches([Path(file) for file in files], budget)
        best = []
        for found, *_ in checked:
            subject = found.problem, found.topology, found.arguments
            known = find_trusted(self._folders(folder), *subject, budget)
            best.append(improve_record(known, found, partial(self._keep, folder)))
        return as_table(best, failure=find_failure(checked))

    def store_records(
        self,
        *,
        proofs: bool = True,
        proof_timeout: Seconds = _PROOF_SECONDS,
        folder: Folder = None,
        wait: bool = False,
    ) -> Facts:
        """Verify all records, and store those that improve on the records in PostgreSQL.

        The result of checking the bound is stored with each record. The result is "verified", "not
        made again" if the proof was not regenerated, or "not checked" if no proof is known, but two
        solvers agree on the bound.

        Args:
            proofs: regenerate the proofs of bounds.
            proof_timeout: time limit of each proof in seconds.
            folder: folder with your own records.
            wait: if a backup is being restored, wait for the end of the restore instead of failing.

        Returns:
            The number of all records (``records``), and the number of newly stored records
            (``stored``).

        Raises:
            RejectedError: a record is wrong; nothing is stored.
        """
        from starcast.records.files import load_files
        from starcast.search import Budget
        from starcast.search.proofs import check_records, tabulate_checks
        from starcast.stores.database.records import store_all

        records = load_files(self._folders(folder))
        budget = Budget(proof_timeout) if proofs else None
        with self._writing("storing records", wait=wait):
            checked = list(check_records(records, budget, self.reporter))
        verification = tabulate_checks(checked)
        # Only a wrong record is an error here. A record whose proof ran out of time is stored with
        # the result "not made again".
        if isinstance(verification.failure, RejectedError):
            raise verification.failure
        states = [(record, state) for record, state, *_ in checked if state != "rejected"]
        # The lock is acquired again for storing, because a restart of the server during the checks
        # would have released the first lock.
        with self._writing("storing records", wait=True) as held, self._session(held) as session:
            written = store_all(session, states)
        sentence = f"stored {written} of {len(records)} records; no other record is an improvement"
        facts = {"records": len(records), "stored": written}
        return Facts(facts, f"{sentence}; {verification.note}")

    def _folders(self, folder: Path | None) -> list[Path]:
        """Return the folder of the records that come with starcast, and the user's own folder."""
        from starcast.records import shipped_folder

        return [shipped_folder(), self._own_folder(folder)]

    def _own_folder(self, folder: Path | None) -> Path:
        return self.settings.home / "records" if folder is None else folder

    def _known(
        self,
        problem: str,
        topology: "str | Path | Topology",
        congestion: int | None,
        folder: Path | None,
    ) -> "Record":
        from starcast.records import find_record
        from starcast.search import find_problem

        values = find_problem(problem).resolve_arguments(_arguments(congestion))
        record = find_record(self._folders(folder), problem, read_topology(topology).spec, values)
        if record is None:
            raise NotFoundError(
                f"no record of {problem} on {topology} is known",
                hint=f"run 'starcast search {problem} {topology}'",
            )
        return record

    def _keep(self, folder: Path | None, record: "Record") -> None:
        from starcast.search.keeping import save_record

        path = save_record(self._own_folder(folder), record, self.reporter, is_proved=True)
        self.reporter.say(f"saved the record to {path}")


def _arguments(congestion: int | None) -> dict[str, int]:
    """Return the arguments of a search problem by name, omitting an argument that is None."""
    return {} if congestion is None else {"congestion": congestion}


def _newest(records: "list[Record]") -> "list[Record]":
    """Return the last record of each id in the list, which is the best known record.

    An id names the problem, its arguments and the topology.
    """
    return list({record.id: record for record in records}.values())


def _read_proof(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except OSError as error:
        raise unreadable(file, error) from None
    except UnicodeDecodeError:
        raise RejectedError(
            f"{file} is not a proof in text format", hint="create the proof again with `out`"
        ) from None
