# Keeps a copy of an organization's records in records.db, by the feed, until it is stopped. The first argument is the
# address of the service; the key is in THREAT_PROTECTION_API_KEY.
import http.client, json, os, sqlite3, sys, time, urllib.error, urllib.parse, urllib.request

class NoRedirect(urllib.request.HTTPRedirectHandler):  # the key goes to no other address
    def redirect_request(self, *_): return None

def wait_of(sent):  # in seconds; 1 if it is no number, such as the date that a proxy may send
    try: return min(max(1.0, float(sent)), 3600.0)
    except (OverflowError, TypeError, ValueError): return 1.0

urllib.request.install_opener(urllib.request.build_opener(NoRedirect))
service = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:3000"
copy = sqlite3.connect("records.db")
copy.executescript("create table if not exists records (key text primary key, json text); create table if not exists place (id text)")
while True:
    last = copy.execute("select id from place").fetchone()
    query = urllib.parse.urlencode({"timeout": 20000, **({"lastEventId": last[0]} if last else {})})
    request = urllib.request.Request(service + "/v2/organization/feed?" + query, headers={"X-API-KEY": os.environ["THREAT_PROTECTION_API_KEY"]})
    try:
        elements = json.load(urllib.request.urlopen(request, timeout=40))
    except urllib.error.HTTPError as error:
        if error.code == 410:
            with copy: copy.execute("delete from records"); copy.execute("delete from place")
        elif error.code < 500 and error.code not in (408, 429):
            raise  # such as an invalid key: a retry would not help
        else:
            time.sleep(wait_of(error.headers.get("Retry-After")))
        continue
    except (OSError, http.client.HTTPException, ValueError):
        time.sleep(1)
        continue
    with copy:  # an answer's records and its last id, both or neither
        for each in elements:
            key = each["type"] + " " + each["subject"]
            if "data" in each: copy.execute("insert or replace into records values (?, ?)", (key, json.dumps(each["data"])))
            else: copy.execute("delete from records where key = ?", (key,))
        if elements: copy.execute("delete from place"); copy.execute("insert into place values (?)", (elements[-1]["id"],))
