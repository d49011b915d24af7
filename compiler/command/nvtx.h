/* Named ranges for NVIDIA's profilers, by the protocol of NVTX 3: a profiler names its library in
 * NVTX_INJECTION64_PATH, and the library fills a table of functions.  Without one nothing happens;
 * no header and no library of the CUDA toolkit is needed. */
#ifndef TL_COMMAND_NVTX_H
#define TL_COMMAND_NVTX_H

/* Once, before the first range. */
void tl_nvtx_open(void);
void tl_nvtx_push(const char *name);
void tl_nvtx_pop(void);

#endif
