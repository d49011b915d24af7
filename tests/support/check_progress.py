"""What long checks show of themselves: check_progress.py SETUP_SH, the file of the shell's."""
import io
import os
import pty
import re
import subprocess
import sys
import tempfile
import time

from progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(out):
    with Progress(3, "cases", out, 0.05) as p:
        p.step()
        p.step(failed=True)
        time.sleep(0.3)
    return out.getvalue()


def shell(setup, is_terminal):
    """Lines of a step of 3 s of a script that tells every second."""
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        script = (f"source '{setup}'; tilec_log={log.name}; tilec_log_s=1; "
                  "tilec_phase counts bash -c 'echo [7/9] step; sleep 3'")
        if not is_terminal:
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout
        controller, terminal = pty.openpty()
        subprocess.run(["bash", "-c", script], stdout=terminal, stderr=terminal)
        os.close(terminal)
        return os.read(controller, 4096).decode()


def main():
    log = shown(io.StringIO())
    assert log.startswith("2 of 3 cases, 1 failed, 0 s\n") and log.count("\n") >= 2, log
    assert "\r" not in log
    live = shown(Terminal())
    assert live.startswith("\r2 of 3 cases, 1 failed, 0 s\033[K") and "\n" not in live, live
    assert live.endswith("\r\033[K")
    with Progress(1, "cases", io.StringIO()) as p:        # short: nothing
        p.step()
    assert p.out.getvalue() == "" and p.every_s == 30
    text = shell(sys.argv[1], False)
    assert re.search(r"^   counts: 7/9 after [1-9] s$", text, re.M) and "\r" not in text, text
    text = shell(sys.argv[1], True)
    assert re.search(r"\r== counts  7/9  [1-9] s", text), text


main()
