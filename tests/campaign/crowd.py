"""Many concurrent commands on the same stores."""

from random import Random

from campaign import commands
from campaign.output import find_problems
from campaign.servers import Servers, finish

DEADLINE = 300


def crowd(servers: Servers, draw: Random, size: int = 6) -> tuple[str, str, list[str]]:
    """Start several commands at once; each must end as documented, and the stores must agree.

    Returns:
        Description, result and problems.
    """
    baseline = servers.snapshot()
    chosen = [
        (commands.change if draw.random() < 0.7 else commands.read)(draw) for _ in range(size)
    ]
    running = [(servers.start(*words), words) for words in chosen]
    ended = [finish(process, words, DEADLINE) for process, words in running]
    problems = []
    for done in ended:
        problems += [f"{' '.join(done.words)}: {text}" for text in find_problems(done)]
    problems += servers.find_problems(baseline, finished=False)
    problems += servers.finish_work(chosen)
    problems += servers.find_problems(baseline, finished=True)
    result = ", ".join(sorted({done.result for done in ended}))
    return "; ".join(" ".join(words) for words in chosen), result, problems
