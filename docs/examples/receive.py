# Receives webhooks: receive.py PORT, the secret (whsec_...) in WEBHOOK_SECRET. Needs nothing but Python.
import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

if len(sys.argv) != 2: sys.exit("Usage: receive.py PORT, with the secret in WEBHOOK_SECRET")
SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].replace("whsec_", "", 1))
done = set()  # Keep it with your data: a delivery may come twice, under the same webhook-id.

class Receiver(BaseHTTPRequestHandler):
    timeout = 30  # in seconds, of a connection that sends nothing

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        message, sent_at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        mac = hmac.new(SECRET, f"{message}.{sent_at}.".encode() + body, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(mac).decode()
        signed = any(hmac.compare_digest(expected, each) for each in self.headers["webhook-signature"].split())
        good = signed and abs(time.time() - int(sent_at)) < 300
        records = json.loads(body) if good and message not in done else []
        for record in records if isinstance(records, list) else [records]:
            print(record["subject"], flush=True)
        done.update([message] if good else [])
        self.send_response(204 if good else 401)  # Only once it is stored: without a 2xx it comes again.
        self.end_headers()

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
