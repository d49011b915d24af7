from . import (convert_custom_float8_sm70, convert_custom_float8_sm80, globaltimer, num_threads,
               num_warps, smid)
