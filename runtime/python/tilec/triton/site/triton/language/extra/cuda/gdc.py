from . import gdc_launch_dependents, gdc_wait
