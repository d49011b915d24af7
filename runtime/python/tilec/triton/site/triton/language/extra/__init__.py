from . import cuda, libdevice
