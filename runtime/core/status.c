/* Names and sentences of the status codes, from the one table in tilec/status.h. */
#include "tilec/status.h"

const char *
tilec_status_string(TilecStatus status)
{
   switch (status) {
#define ROW(name, number, text)                                                                    \
   case TILEC_##name:                                                                              \
      return text;
      TILEC_STATUS_TABLE(ROW)
#undef ROW
   }
   return "unknown status";
}

const char *
tilec_status_name(TilecStatus status)
{
   switch (status) {
#define ROW(name, number, text)                                                                    \
   case TILEC_##name:                                                                              \
      return "TILEC_" #name;
      TILEC_STATUS_TABLE(ROW)
#undef ROW
   }
   return "unknown status";
}
