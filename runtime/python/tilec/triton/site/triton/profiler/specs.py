"""The most that a GPU can do, for the viewer's `util`."""


def _hopper(width, num_sms, clock_rate):
    return num_sms / 114 * clock_rate / (1755 * 1e3) * 1513e12 / (width / 8)


def _blackwell(width, num_sms, clock_rate):
    return num_sms * 16384 * clock_rate * 1e3 / (width / 8)


_FLOPS = {"80": lambda width, *_: 624e12 / (width / 8),
          "89": lambda width, *_: 330.3e12 / (width / 8), "90": _hopper, "100": _blackwell}


def max_flops(device_type, arch, width, num_sms, clock_rate):
    """Operations a second on elements of `width` bits; clock_rate in kHz."""
    if device_type != "CUDA":
        raise ValueError("Unsupported device type: %s" % device_type)
    if arch not in _FLOPS:
        raise ValueError("Unsupported architecture: %s" % arch)
    return _FLOPS[arch](width, num_sms, clock_rate)


def max_bps(device_type, arch, bus_width, memory_clock_rate):
    """Bytes a second; bus_width in bits, memory_clock_rate in kHz."""
    if device_type != "CUDA":
        raise ValueError("Unsupported device type: %s" % device_type)
    return 2 * bus_width * memory_clock_rate * 1e3 / 8
