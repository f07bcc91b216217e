# Keeps two local lists current in the current folder, and says of each line that it reads what they say: local-list.py URL.
# ASK: only the service can say; STALE: a list is missing or too old. LISTS_KEY: a key with the scope `lists`, unless the
# lists are public. LISTS_PUBLIC_KEY: the keys of the signatures, separated by spaces, which are not checked without it;
# checking them needs the package cryptography, because Python has no Ed25519. LISTS_EVERY_SECONDS: asks so often, as
# behind a CDN, and does not wait for changes. Needs Python 3.8.
import array, base64, bisect, datetime, hashlib, json, math, os, random, re, sys, threading, time, urllib.error, urllib.request

VALID_SECONDS = 24 * 3600  # `validSeconds` of GET /v2/lists
MAX_NUMBERS = 4_000_000  # of one list: 32 MB
MAX_BYTES = 64 * 2**20  # of one response

NAME = r"(?:[a-z0-9_](?:[a-z0-9_-]{0,62})\.)+[a-z][a-z0-9-]{0,62}"
BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
ADDRESS = BYTE + r"(?:\." + BYTE + r"){3}"
# A link without anything that may carry another link: no colon, no escape, no slash in its parameters.
LINK = re.compile(r"(?:https?://)?(" + NAME + "|" + ADDRESS + r")((?:/[a-z0-9._~-]+)*)(/?)((?:\?[a-z0-9._~=&-]*)?(?:#[a-z0-9_~=&-]*)?)", re.I | re.A)
IS_ADDRESS = re.compile(ADDRESS, re.A)
MAILBOX = re.compile(r"([a-z0-9_-]{1,64})@(" + NAME + ")")
PLAIN_ACCOUNT = re.compile(r"(?:(?:bc|ltc)1[02-9ac-hj-np-z]{11,90}|[13][1-9A-HJ-NP-Za-km-z]{25,33}|T[1-9A-HJ-NP-Za-km-z]{33}|[1-9A-HJ-NP-Za-km-z]{43,44})")
EVM_ACCOUNT = re.compile(r"0x[0-9a-fA-F]{40}")
CID = re.compile(r"baf[a-z2-7]{56}")
HAS_CID = re.compile(r"^[^.]{46}|\.ipfs\.")  # A first label so long may be a CID.
IS_PRIVATE = re.compile(r"(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)\Z")  # Only the service checks mailboxes there.
HAS_ALIASES = re.compile(r"(?:gmail|googlemail)\.com")  # Gmail ignores dots and what follows a plus sign.
IS_GOOGLE = re.compile(r"(?:^|\.)google\.")  # Google has hosts that carry links in every country.
HOLDS_OTHERS = re.compile("sso=", re.I | re.A)  # A parameter whose value holds others in base64.
PLAIN_PATH = re.compile(r"(?!/ip[fn]s/)(?:/[a-z0-9._~-]*[a-z0-9_~-]){1,15}", re.I | re.A)  # one that no gateway serves

def with_parents(host):  # and the domains above it that have at least two labels, longest first
    labels = host.split(".")
    return [".".join(labels[n:]) for n in range(len(labels) - 1)]

def range_expression(address, bits):  # of the range of IPv4 addresses around an address
    first = int.from_bytes(map(int, address.split(".")), "big") >> (32 - bits) << (32 - bits)
    return "v%d/%s" % (bits, ".".join(map(str, first.to_bytes(4, "big"))))

# A step is a tuple: if the half ("list": all-8b; "ask": ask-8b) has the expression, the content has the result; but ASK if
# "list" also has the fourth element.
def listed(expression): return ("list", expression, "LISTED")
def not_listed(expression, *ask_if): return ("list", "!" + expression, "NOT_LISTED", *ask_if)
def ask(expression): return ("ask", expression, "ASK")
def either(expression): return [listed(expression), not_listed(expression)]

def steps_of_host(host, *form):
    steps = [*either(f"={host}/"), ask(f"={host}/"), *either(f"{host}/"), ask(f"{host}/")]
    for one in with_parents(host)[1:]:
        steps += [listed(f"{one}/"), not_listed(f"{one}/", *form), ask(f"{one}/")]
    return steps + [listed(one) for one in form]

def steps_of_address(address):
    steps = either(f"={address}/") + either(f"{address}/")
    for bits in range(32, 7, -1):
        expression = range_expression(address, bits)
        steps += [*either(expression), ask(expression)]
    return steps

def steps_of_page(hosts, path, is_named_by_more):
    steps = []
    for level, host in enumerate(hosts[:5]):
        end = len(path)
        while end > 0:
            page = host + path[:end]
            steps += either(("*" if level else "=") + page + ("$" if end == len(path) else "/")) + either(page)
            end = path.rfind("/", 0, end)
    return [(half, expression, "ASK") for half, expression, _ in steps] if is_named_by_more else steps

def steps_of(content):  # what decides about a content, in order; None if only the service can read it
    if EVM_ACCOUNT.fullmatch(content): return [listed("ADDRESS:" + content.lower())]
    if CID.fullmatch(content): return [listed("IPFS:" + content)]
    if PLAIN_ACCOUNT.fullmatch(content): return [listed("ADDRESS:" + content)]
    mailbox = MAILBOX.fullmatch(content)
    if mailbox:
        server = mailbox[2]
        if IS_PRIVATE.search(server) or HAS_ALIASES.fullmatch(server) or len(server) > 253: return None
        return either("EMAIL:" + content) + either(f"@{server}/") + steps_of_host(server)
    link = LINK.fullmatch(content)
    if not link: return None
    host, path, slash, more = link[1].lower(), *link.groups()[1:]
    if len(host) > 253 or HAS_CID.search(host) or HOLDS_OTHERS.search(more): return None
    if more and not path + slash: return None
    if IS_PRIVATE.search(host): return []
    is_address = IS_ADDRESS.fullmatch(host)
    on_host = steps_of_address(host) if is_address else steps_of_host(host, "~" + host[:host.rindex(".")].replace("www.", "", 1))
    if not path + more: return on_host
    if IS_GOOGLE.search(host) or (path and not PLAIN_PATH.fullmatch(path)): return None
    hosts = [host] if is_address else with_parents(host)
    return [ask(one + "/*") for one in hosts] + steps_of_page(hosts, path, more != "") + on_host

def look_up(content, has):  # has(half, expression): whether one of the two lists has an expression
    steps = steps_of(content)
    if steps is None: return "ASK"
    for half, expression, result, *ask_if in steps:
        if has(half, expression):
            return "ASK" if ask_if and has("list", ask_if[0]) else result
    return "NOT_LISTED"

def hash_of(text): return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

def holds(hashes, number):
    at = bisect.bisect_left(hashes, number)
    return at < len(hashes) and hashes[at] == number

def decode(coded):  # ascending numbers; the checksum finds what is wrong, this refuses what would take too much memory
    text, parameter, count = coded["encodedData"], coded["riceParameter"], coded["entriesCount"]
    # A number takes at most 72 bits.
    is_possible = 0 <= parameter < 64 and 0 <= count < MAX_NUMBERS and len(text) <= 12 * (count + 1)
    data = base64.b64decode(text if is_possible else "")
    if not is_possible or len(data) * 8 < count * (parameter + 1):
        raise ValueError(f"{len(text)} characters cannot be {count} numbers with parameter {parameter}")
    numbers, at = [int(coded["firstValue"])], 0
    def window(): return int.from_bytes(data[at >> 3:(at >> 3) + 9], "little") >> (at & 7)  # at least 64 bits from `at` on
    for _ in range(count):
        quotient = 0
        while window() & 1:
            ones = min((~window() & (window() + 1)).bit_length() - 1, 64)
            quotient += ones
            at += ones
        at += 1
        numbers.append(numbers[-1] + (quotient << parameter) + (window() & ((1 << parameter) - 1)))
        at += parameter
    return numbers

def bytes_of(hashes):
    swapped = array.array("Q", hashes)
    if sys.byteorder == "little": swapped.byteswap()
    return swapped.tobytes()

def is_signed(text, signature, public_key):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try: Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key)).verify(signature, text)
    except InvalidSignature: return False
    return True

def verified(found, public_keys):  # returns the list; raises ValueError if it is not the one that was signed with one of the keys
    if hashlib.sha256(bytes_of(found["hashes"])).hexdigest() != found["sha256"]:
        raise ValueError("%(name)s does not have the checksum of version %(version)s" % found)
    if public_keys is None: return found
    text = "\n".join(found[each] for each in ("name", "version", "sha256", "cutAt")).encode()
    signature = base64.b64decode(found.get("signature", ""))
    if any(is_signed(text, signature, each) for each in public_keys.split()): return found
    raise ValueError("Version %(version)s of %(name)s is not signed by the service" % found)

def updated(update, name, held, public_keys=None):  # the list after an update; ValueError if it was not signed, or is older
    if update["name"] != name: raise ValueError(f"{update['name']} was sent instead of {name}")
    if held and instant_of(update) < instant_of(held):
        raise ValueError(f"Version {update['version']} of {name} is older than version {held['version']}")
    removed = set(decode(update["removals"])) if "removals" in update else set()
    kept = [each for index, each in enumerate(held["hashes"]) if index not in removed] if update["partialUpdate"] else []
    hashes = sorted(kept + (decode(update["additions"]) if "additions" in update else []))
    version = {each: update[each] for each in ("name", "version", "sha256", "cutAt", "signature") if each in update}
    return verified({**version, "hashes": array.array("Q", hashes)}, public_keys)

def instant_of(found):  # when it was cut, in seconds; nan if it does not say
    try: return datetime.datetime.fromisoformat(found["cutAt"].replace("Z", "+00:00")).timestamp()
    except (AttributeError, KeyError, ValueError): return math.nan

def check(content, lists):
    def is_current(half): return abs(time.time() - instant_of(lists.get(half, {}))) <= VALID_SECONDS
    if not is_current("list") or not is_current("ask"): return "STALE"
    return look_up(content, lambda half, expression: holds(lists[half]["hashes"], hash_of(expression)))

class NoRedirect(urllib.request.HTTPRedirectHandler):  # the key goes to no other address
    def redirect_request(self, *_): return None

def wait_of(sent):  # in seconds; 1 if it is no number, such as the date that a proxy may send
    try: return min(max(1.0, float(sent)), 3600.0)
    except (OverflowError, TypeError, ValueError): return 1.0

def follow(service, half, name, lists, ready):
    key, public_keys, every = (os.environ.get("LISTS_" + each) for each in ("KEY", "PUBLIC_KEY", "EVERY_SECONDS"))
    opener, file = urllib.request.build_opener(NoRedirect), name + ".json"
    failures, is_first, is_whole = 0, True, False
    while True:
        seconds = 1.0
        try:
            if is_first and os.path.exists(file):
                with open(file) as saved: found = json.load(saved)
                found["hashes"] = array.array("Q", base64.b64decode(found["hashes"]))
                if sys.byteorder == "little": found["hashes"].byteswap()
                lists[half] = verified(found, public_keys)
            held = lists.get(half)
            since = f"?since={held['version']}" if held and not is_whole else ""
            headers = {**({"X-API-KEY": key} if key else {}), **({} if is_first or every else {"Prefer": "wait=25"})}
            with opener.open(urllib.request.Request(f"{service}/v2/lists/{name}{since}", headers=headers), timeout=60) as response:
                body, has_waited = response.read(MAX_BYTES + 1), "Preference-Applied" in response.headers
            if len(body) > MAX_BYTES: raise ValueError(f"The response has more than {MAX_BYTES} bytes")
            update = json.loads(body)
            # The next time, if this update does not fit. If it is older, the whole list is older too.
            is_whole = not held or instant_of(update) >= instant_of(held)
            lists[half] = found = updated(update, name, held, public_keys)
            failures, is_whole = 0, False
            if not has_waited: seconds = max(wait_of(every), wait_of(update.get("minimumWaitSeconds")))
            with open(file + ".new", "w") as saving:
                json.dump({**found, "hashes": base64.b64encode(bytes_of(found["hashes"])).decode()}, saving)
            os.replace(file + ".new", file)  # after a kill, one version or the other
        except Exception as error:
            if isinstance(error, urllib.error.HTTPError): seconds = wait_of(error.headers.get("Retry-After"))
            seconds = max(seconds, min(2 ** min(failures, 9), 300) * (0.5 + random.random() / 2))
            failures += 1
            print(f"{name}: {error}; trying again in {seconds:.1f} s", file=sys.stderr, flush=True)
        is_first = False
        ready.set()
        time.sleep(seconds)

if __name__ == "__main__":
    lists, started = {}, []
    for half, name in (("list", "all-8b"), ("ask", "ask-8b")):
        started.append(threading.Event())
        threading.Thread(target=follow, args=(sys.argv[1], half, name, lists, started[-1]), daemon=True).start()
    for ready in started: ready.wait()
    for line in sys.stdin:
        content = line.rstrip("\r\n")
        print(check(content, lists), content, flush=True)
