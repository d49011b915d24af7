from ..libdevice import *
