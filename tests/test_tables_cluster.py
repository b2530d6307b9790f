"""A Spark cluster with two workers, one of which dies in the middle of the job: the values are still right."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path

import pytest

from permed_measures import evaluate

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed (extra: spark)"),
    pytest.mark.skipif(
        not (os.environ.get("JAVA_HOME") or shutil.which("java")), reason="Spark needs Java 17 or newer; none was found"
    ),
    pytest.mark.skipif(
        not hasattr(os, "killpg"), reason="spark-class is a shell script, and a worker dies by its group"
    ),
]

MEASURES = "GWAP@10 nDCG(dcg='exp-log2')@10 ListNDCG@5 AP RR Rprec Coverage@3 GWAP(norm='ideal')"
QRELS_FILES, RUN_FILES, QUERIES, DEPTH = 12, 48, 2_000, 100
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # its second compiler takes longer than it gains in so short a life
SECONDS = 180

DRIVER = """
import json, sys
from pyspark.sql import SparkSession
from permed_measures.tables import evaluate_tables

master, conf, folder, measures = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], sys.argv[4]
builder = SparkSession.builder.master(master)
for name, value in conf.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
print("application", spark.sparkContext.applicationId, spark.sparkContext.uiWebUrl, flush=True)
ids = "query_id string, doc_id string"  # said here: otherwise a job looks into a file
qrels = spark.read.schema(f"{ids}, relevance double").parquet(f"{folder}/qrels")
run = spark.read.schema(f"{ids}, score double").parquet(f"{folder}/run")
values = evaluate_tables(qrels, run, measures, check_input=False).collect()
with open(f"{folder}/values.json", "w") as file:
    json.dump([row.asDict() for row in values], file)
spark.stop()
"""


@pytest.fixture
def processes():
    with ExitStack() as stack:
        yield stack


class Process:
    """A process, all that it starts, and what they say."""

    def __init__(self, stack, command, log, env):
        self.log = log
        with log.open("wb") as file:
            self.popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )
        stack.callback(self.kill)

    def kill(self):
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        return self.popen.wait()

    def said(self, pattern):
        return re.search(pattern, self.log.read_text(errors="replace"), re.MULTILINE)


def until(look, process):
    """Look until there is something to see; the process must live as long."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if seen := look():
            return seen
        if process.popen.poll() is not None:
            break
        time.sleep(0.05)
    pytest.fail(f"not seen:\n{process.log.read_text(errors='replace')[-3000:]}")


def write_tables(folder):
    """Write 200,000 rows with ties, in many files; return them as dicts."""
    import polars as pl

    chance = random.Random(8)
    qrels, run = {}, {}
    for number in range(QUERIES):
        docs = [f"d{doc}" for doc in chance.sample(range(10_000), DEPTH)]
        qrels[f"q{number}"] = {doc: chance.choice((0, 1, 2)) for doc in chance.sample(docs, 12)} | {"elsewhere": 2}
        run[f"q{number}"] = {doc: chance.randrange(50) / 8 for doc in docs}
    for name, grid, column, files in (("qrels", qrels, "relevance", QRELS_FILES), ("run", run, "score", RUN_FILES)):
        (folder / name).mkdir()
        rows = [(query, doc, float(number)) for query, docs in grid.items() for doc, number in docs.items()]
        chance.shuffle(rows)
        for part in range(files):
            frame = pl.DataFrame(rows[part::files], schema=["query_id", "doc_id", column], orient="row")
            frame.write_parquet(folder / name / f"{part}.parquet")
    return qrels, run


def conf(folder):
    (folder / "events").mkdir()
    return {
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": JAVA,
        "spark.driver.extraJavaOptions": JAVA,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.port": "0",
        "spark.ui.liveUpdate.period": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        # nothing starts before both executors are there
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{SECONDS}s",
        # one file, one task; joins as of tables that fit nowhere
        "spark.sql.files.maxPartitionBytes": "64k",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "32",
        # do not wait long for the blocks of the dead
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "100ms",
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }


def ask(ui, application, what):
    """Ask Spark's REST interface; not through a proxy."""
    connection = HTTPConnection(ui.removeprefix("http://"), timeout=30)
    try:
        connection.request("GET", f"/api/v1/applications/{application}/{what}")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def half_done(ui, application):
    """Return the stage that reads the run, once both executors have done tasks of it and many are left."""
    for stage in ask(ui, application, "stages?status=active"):
        if stage["numTasks"] == RUN_FILES and 0 < stage["numCompleteTasks"] <= RUN_FILES - 8:
            by_executor = ask(ui, application, f"stages/{stage['stageId']}/{stage['attemptId']}")["executorSummary"]
            if sum(executor["succeededTasks"] > 0 for executor in by_executor.values()) == 2:
                return str(stage["stageId"])
    return None


def test_a_worker_dies_in_the_middle_and_the_values_are_right(processes, tmp_path):
    import pyspark

    qrels, run = write_tables(tmp_path)
    home = Path(pyspark.__file__).parent
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))} | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
    }
    spark_class = [str(home / "bin" / "spark-class")]
    loopback = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]  # any free ports
    command = [*spark_class, "org.apache.spark.deploy.master.Master", *loopback]
    master = Process(processes, command, tmp_path / "master.log", env)
    url = until(lambda: master.said(r"Starting Spark master at (spark://\S+)"), master)[1]
    workers = {}
    for name in ("one", "two"):
        command = [*spark_class, "org.apache.spark.deploy.worker.Worker", *loopback, "--cores", "1", "--memory", "1g"]
        command += ["--work-dir", str(tmp_path / name), url]
        workers[name] = Process(processes, command, tmp_path / f"worker {name}.log", env)

    arguments = [url, json.dumps(conf(tmp_path)), str(tmp_path), MEASURES]
    stage = None
    for attempt in range(5):  # on a busy machine the job may be over before anybody sees it half done
        driver = Process(processes, [sys.executable, "-c", DRIVER, *arguments], tmp_path / f"driver {attempt}.log", env)
        _, application, ui = until(lambda: driver.said(r"^application (\S+) (\S+)$"), driver).group(0, 1, 2)  # noqa: B023  (called here)
        with suppress(ConnectionError):
            stage = until(lambda: half_done(ui, application), driver)  # noqa: B023  (called here)
            break
        assert driver.popen.wait(SECONDS) == 0, driver.log.read_text(errors="replace")[-3000:]
    assert stage is not None
    assert workers["one"].kill() == -signal.SIGKILL
    assert driver.popen.wait(SECONDS) == 0, driver.log.read_text(errors="replace")[-3000:]

    (dead,) = [folder.name for folder in (tmp_path / "one" / application).iterdir()]
    assert_died_in_the_middle(tmp_path / "events" / application, dead, stage)
    expected = evaluate(qrels, run, MEASURES)
    values = {row["query_id"]: row for row in json.loads((tmp_path / "values.json").read_text())}
    assert values.keys() == qrels.keys()
    for measure, column in expected.columns.items():
        for query_id, value in column.items():
            assert values[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


def assert_died_in_the_middle(log, dead, stage):
    """Read in Spark's log of events that the executor was lost while the job ran, and its work done again."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    names = [event["Event"].removeprefix("SparkListener") for event in events]
    (lost,) = [
        place
        for place, event in enumerate(events)
        if names[place] == "ExecutorRemoved" and event["Executor ID"] == dead
    ]
    assert names.count("JobStart") == names.count("JobEnd") == 1
    assert names.index("JobStart") < lost < names.index("JobEnd")
    assert events[names.index("JobEnd")]["Job Result"] == {"Result": "JobSucceeded"}
    partitions_of = {True: set(), False: set()}
    for place, (name, event) in enumerate(zip(names, events, strict=True)):
        if name == "TaskEnd" and str(event["Stage ID"]) == stage and event["Task End Reason"] == {"Reason": "Success"}:
            is_dead = event["Task Info"]["Executor ID"] == dead
            assert not is_dead or place < lost
            partitions_of[is_dead].add(event["Task Info"]["Partition ID"])
    assert partitions_of[True]
    assert partitions_of[True] < partitions_of[False] == set(range(RUN_FILES))
