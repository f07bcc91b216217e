# Sends the event in the first argument and reads the metrics that include it. The key in THREAT_PROTECTION_API_KEY has
# the scopes ingest and read.
import os, sys, time, urllib.error, urllib.request

class NoRedirect(urllib.request.HTTPRedirectHandler):  # the key goes to no other address
    def redirect_request(self, *_): return None

def wait_of(sent):  # in seconds; 1 if it is no number, such as the date that a proxy may send
    try: return min(max(1.0, float(sent)), 3600.0)
    except (OverflowError, TypeError, ValueError): return 1.0

urllib.request.install_opener(urllib.request.build_opener(NoRedirect))
if len(sys.argv) != 2: sys.exit("Usage: read-own-writes.py EVENT, with a CloudEvent as JSON")
token = None

def call(path, body=None, content_type="application/json", tries=5):
    global token
    headers = {"X-API-KEY": os.environ["THREAT_PROTECTION_API_KEY"], "Content-Type": content_type, "Prefer": "wait=10"}
    while True:
        sent = {**headers, **({"Consistency-Token": token} if token else {})}
        request = urllib.request.Request("http://127.0.0.1:3000/v2" + path, body, sent)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                token = answer.headers["Consistency-Token"]
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            tries -= 1
            if error.code == 410 and token:
                token = None
            elif error.code == 503 and tries > 0:
                time.sleep(wait_of(error.headers.get("Retry-After")))
            else:
                raise

print(call("/events", sys.argv[1].encode(), "application/cloudevents+json"))
print(call("/organization/metrics"))
