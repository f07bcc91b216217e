"""Sends a file of CloudEvents, one JSON object a line, to the ingestion endpoint: send.py URL FILE, the key in THREAT_PROTECTION_API_KEY.
FILE.sent holds the number of lines for which a response has arrived: the next run continues after them, also after a kill.
A batch that was stored but not answered is sent again and counts as duplicates. Python 3.8, standard library only."""
import codecs, gzip, http.client, json, os, random, sys, time, urllib.parse

MAX_EVENTS = 1_000
MAX_BYTES = 8 * 1024 * 1024  # of one request, before it is compressed
PATIENCE = 300  # seconds with one request

if len(sys.argv) != 3: sys.exit("Usage: send.py URL FILE")
url, file = sys.argv[1:]
state = file + ".sent"
target = urllib.parse.urlsplit(url)
connect = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
headers = {"X-API-KEY": os.environ.get("THREAT_PROTECTION_API_KEY", ""), "Content-Type": "application/cloudevents-batch+json",
           "Content-Encoding": "gzip"}
total = {"accepted": 0, "duplicates": 0, "rejected": 0, "warning": 0}

class Stopped(Exception):
    pass

def report(number, what, why):
    total[what] += 1
    print(f"{file}:{number} {what}: {why}", file=sys.stderr, flush=True)

def ask(body):
    connection = connect(target.netloc, timeout=30)
    try:
        connection.request("POST", target.path.rstrip("/") + "/v2/events", body, headers)
        response = connection.getresponse()
        text, after = response.read(), response.headers.get("Retry-After", "")
    except (OSError, http.client.HTTPException) as error:
        return 0, 0, {"message": repr(error)}
    finally:
        connection.close()
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    return (response.status, int(after) if after.isdigit() else 0,
            answer if isinstance(answer, dict) else {"message": response.reason})

def send(batch):
    """Returns when each event of the batch has been answered for; raises Stopped if trying again would not help."""
    body = gzip.compress(b"[" + b",".join(line for _, line in batch) + b"]")
    end, delay = time.monotonic() + PATIENCE, 0.2
    while True:
        status, retry_after, answer = ask(body)
        message = answer.get("message")
        if status in (200, 400) and "rejected" in answer:
            accepted, duplicates = answer.get("accepted", 0), answer.get("duplicates", 0)
            if accepted + duplicates + len(answer["rejected"]) != len(batch):
                raise Stopped(f"{len(batch)} events were sent, but the answer is {json.dumps(answer)}")
            total["accepted"] += accepted
            total["duplicates"] += duplicates
            for what, findings in (("rejected", answer["rejected"]), ("warning", answer.get("warnings", []))):
                for each in findings:
                    report(batch[each["index"]][0], what, "; ".join(issue["message"] for issue in each["issues"]))
            return
        if status in (400, 413):
            if len(batch) == 1:
                return report(batch[0][0], "rejected", f"{status} {message}")
            send(batch[:len(batch) // 2])
            return send(batch[len(batch) // 2:])
        wait = max(retry_after, delay * random.uniform(0.5, 1))
        if not (status in (0, 200, 408, 429) or status >= 500) or time.monotonic() + wait > end:
            raise Stopped(f"{url}: {status} {message}")
        print(f"{status} {message}; trying again in {wait:.1f} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        delay = min(2 * delay, 5)

def refuse(constant):
    raise ValueError(constant)

def is_json(line):
    try:
        json.loads(line.decode("utf-8"), parse_constant=refuse)  # Python alone would read NaN
        return True
    except (ValueError, RecursionError):
        return False

def send_file():
    answered = int(open(state).read()) if os.path.exists(state) else 0
    batch, size, last = [], 1, 0

    def flush():
        nonlocal batch, size
        if batch:
            send(batch)
        with open(state + ".new", "w") as out:
            out.write(f"{last}\n")
        os.replace(state + ".new", state)
        batch, size = [], 1

    with open(file, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if number == 1 and line.startswith(codecs.BOM_UTF8):
                line = line[len(codecs.BOM_UTF8):]
            event = line.strip()
            if number > answered and event:
                if is_json(event):
                    if len(batch) == MAX_EVENTS or size + len(event) + 1 > MAX_BYTES:
                        flush()
                    batch.append((number, event))
                    size += len(event) + 1  # with the bracket or comma after it
                elif not line.endswith(b"\n"):
                    flush()
                    raise Stopped(f"{file}:{number} is not complete; send again when it is")
                else:
                    report(number, "rejected", "not JSON in UTF-8")
            last = number
    if last < answered:
        raise Stopped(f"{state} says {answered} lines, but {file} has {last}: is it another file?")
    flush()

try:
    send_file()
    stopped = False
except (Stopped, OSError, ValueError) as error:
    print(f"Stopped: {error}", file=sys.stderr)
    stopped = True
print(json.dumps(total, separators=(",", ":")))
sys.exit(1 if stopped or total["rejected"] else 0)
