/* A kernel opened through the runtime for the commands that measure: bench and tune. */
#ifndef TL_COMMAND_MEASURE_H
#define TL_COMMAND_MEASURE_H

#include "command/arguments.h"

typedef struct TlMeasure {
   TlCommand *c;
   TilecCompileOptions o;
   TlCompileExtra extra;
   TlCmdArgs args;
   TilecRuntime *rt;
   TilecModule *module;
   TilecKernel *kernel;
   TilecLaunch launch;
   TilecArg *values; /* launch arguments */
   size_t num_values;
   TilecSession *session; /* of the listing */
   TilecListing *listing;
   const TilecTuning *tuning; /* of the kernel, pruned for the arguments; NULL = none */
   const char *database;      /* NULL = none */
   TilecTuneOptions options;  /* from the command line */
} TlMeasure;

/* Reads the command line, whose mistakes are told before a driver is opened; an exit code, after a
 * message. */
int tl_measure_read(TlMeasure *m, TlCommand *c);
/* Opens the executor, uploads, finds the kernel; likewise. */
int tl_measure_open(TlMeasure *m);
void tl_measure_close(TlMeasure *m);
/* The exit code for a failed call of the runtime, after its message. */
int tl_measure_error(TlMeasure *m, TilecStatus status);
/* tilec_kernel_tune with the command's options and a progress line. */
TilecStatus tl_measure_run(TlMeasure *m, const TilecTuneOptions *options, TilecTuneResult **out);
/* The configuration of an autotuned kernel for the command's arguments, measured or stored, is
 * added to the options (tilec run on the GPU); an exit code, after a message. */
int tl_measure_choose(TlCommand *c, TilecCompileOptions *o);
/* Where the tuner's choices are kept; NULL: nowhere. */
const char *tl_measure_database(TlCommand *c);

/* Bytes read and written by a large copy on an executor, in GB/s; 0 when it cannot be measured. */
double tl_copy_gbps(TilecRuntime *rt);

/* ---- bench_report.c ---- */
typedef struct TlBenchReport {
   const char *kernel, *device;
   const TilecTuneInfo *info;
   const char *picked;  /* configuration that the tuner chose; NULL = no choice was made */
   double bytes, flops; /* of one launch; 0 = not known */
   double copy_gbps;    /* measured in the same run; 0 = not known */
} TlBenchReport;

typedef void TlReportFn(const TlBenchReport *r, TlSb *out);
TlReportFn tl_report_text, tl_report_csv, tl_report_json, tl_report_svg;

#endif
