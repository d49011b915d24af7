/* Result codes of every tilec call, compiler and runtime alike.  Plain C11, usable from C++.
 *
 * Codes never change their number; new ones are appended to the table.  A code says which kind of
 * thing went wrong; the words for one failure (file, line, driver message) come from the handle the
 * call was made on: diagnostics from the session, tilec_runtime_error() from the runtime. */
#ifndef TILEC_STATUS_H
#define TILEC_STATUS_H

#include <stddef.h>

#define TILEC_STRLEN ((size_t)-1) /* as a length: the string ends at its NUL */

#if defined(__GNUC__)
#define TILEC_API __attribute__((visibility("default")))
/* Of functions whose status says whether anything was done: it is not to be dropped. */
#define TILEC_KEEP __attribute__((warn_unused_result))
#else
#define TILEC_API
#define TILEC_KEEP
#endif
#define TILEC_CHECKED TILEC_API TILEC_KEEP

/*       name                  number  meaning */
#define TILEC_STATUS_TABLE(X)                                                                      \
   X(OK, 0, "success")                                                                             \
   X(BAD_SOURCE, 1, "the program has errors; they went to the diagnostics callback")               \
   X(BAD_ARGUMENT, 2, "a call or a kernel was given an argument that it does not take")            \
   X(BAD_TARGET, 3, "the target architecture is unknown or does not fit the device")               \
   X(BAD_IMAGE, 4, "the kernel image or its metadata is damaged or of another version")            \
   X(NOT_FOUND, 5, "no kernel or parameter of that name")                                          \
   X(IO, 6, "a file could not be read or written")                                                 \
   X(NO_MEMORY, 7, "out of host memory, or the memory limit was reached")                          \
   X(LIMIT, 8, "a documented limit was exceeded")                                                  \
   X(CANCELLED, 9, "the caller cancelled, or the deadline passed")                                 \
   X(UNSUPPORTED, 10, "this build, executor or device cannot do that")                             \
   X(NO_DRIVER, 11, "no NVIDIA driver library on this machine")                                    \
   X(DRIVER_TOO_OLD, 12, "the NVIDIA driver is too old")                                           \
   X(NO_DEVICE, 13, "no such GPU")                                                                 \
   X(DEVICE_LOST, 14, "an earlier fault on the GPU ended this process's use of it")                \
   X(OUT_OF_DEVICE_MEMORY, 15, "out of GPU memory")                                                \
   X(LAUNCH_FAILED, 16, "the driver refused to launch the kernel")                                 \
   X(BAD_CONTEXT, 17, "the GPU context or stream is not usable here")                              \
   X(FORKED, 18, "a runtime does not survive fork(); open one in the child")                       \
   X(NOT_READY, 19, "the work has not finished yet")                                               \
   X(DRIVER_ERROR, 20, "the NVIDIA driver reported an error without a code of its own here")       \
   X(FAULT, 21, "the kernel broke a rule while running; the fault report says where")              \
   X(INTERNAL, 22, "a bug in tilec")                                                               \
   X(TIMED_OUT, 23, "the GPU has not finished within the time asked for")

typedef enum TilecStatus {
#define TILEC_STATUS_ROW(name, number, text) TILEC_##name = number,
   TILEC_STATUS_TABLE(TILEC_STATUS_ROW)
#undef TILEC_STATUS_ROW
} TilecStatus;

#ifdef __cplusplus
extern "C" {
#endif

/* One sentence, static storage; "unknown status" for a number outside the table.  Any thread. */
TILEC_API const char *tilec_status_string(TilecStatus status);
/* "TILEC_BAD_SOURCE", static storage. */
TILEC_API const char *tilec_status_name(TilecStatus status);

#ifdef __cplusplus
}
#endif
#endif
