/* Planted faults: lines of lowered kernels made wrong, one at a time, by the kinds of mistakes that
 * lowering, layouts, pipelining and barrier insertion could make.  The simulator must report each,
 * with both source lines where there are two, or the result must differ from the CPU executor's at
 * one of the sizes: which iteration of a loop meets which stage depends on it.  Unchanged kernels
 * pass.  The few changes that leave a kernel right are listed with the reason, and must not be
 * caught.
 *
 *    planted [PART PARTS]    every PARTSth kind of fault, or all; prints the table: kernel, fault,
 *                            line, how it was caught */
#include "tilec/arg.h"
#include "tilec/tilec.h"

#include "ir/dtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first. */
#include <cmocka.h>
#include <math.h>

enum {
   ALL_ROWS = 1000,
   MAX_BUFFERS = 6,
   MAX_INTS = 9,
   MAX_SIZES = 4,
   MAX_ARGS = MAX_BUFFERS + MAX_INTS + 1
};

/* ---- kernels ---- */
typedef struct Kernel {
   const char *name, *file, *kernel, *signature;
   TilecDefine defines[4];
   size_t num_defines;
   const char *buffers; /* h fp16, f fp32, i i32 below 64; capital: written */
   size_t n;            /* elements of each */
   int64_t ints[MAX_INTS];
   unsigned num_ints;
   unsigned varied;          /* which of them takes these in turn: */
   int64_t sizes[MAX_SIZES]; /* 0 = no more */
   float scale;              /* a last argument of fp32; 0 = none */
   uint32_t grid[3];
   uint32_t stages, warps;
   const char *arch;   /* NULL: sm_90, whose dots are mma.sync */
   unsigned role_rows; /* gets so many of role_faults, and nothing else */
   TilecTma tma;
   uint32_t multiprocessors; /* for blocks that run many programs */
   const char *like; /* the kernel whose harmless changes are harmless in it, too; NULL: none */
} Kernel;

#define EXAMPLE(name) TL_SOURCE_DIR "/dsl_examples/" name ".tile"
#define PLANTED       TL_SOURCE_DIR "/tests/unit/sim/planted.tile"

#define MATMUL_OF(b_row)                                                                           \
   .file = EXAMPLE("matmul"), .kernel = "matmul",                                                  \
   .signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32:1, " b_row      \
                ", i32:1, i32:16, i32:1"
#define MATMUL MATMUL_OF("i32:16")
#define ATTENTION                                                                                  \
   .file = EXAMPLE("attention"), .kernel = "attn_fwd",                                             \
   .signature = "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32:16, fp32"

/* What is copied by threads and by boxes in turn. */
#define MATMUL_IN_ROLES(programs)                                                                  \
   MATMUL, .defines = {{"BLOCK_M", "128"}, {"BLOCK_N", "128"}, {"BLOCK_K", "64"}},                 \
   .num_defines = 3, .buffers = "hhH", .n = (programs) * 128 * 640,                                \
   .ints = {(programs) * 128, 128, 0, 640, 1, 128, 1, 128, 1}, .num_ints = 9, .varied = 2,         \
   .grid = {programs, 1, 1}, .stages = 4, .warps = 8, .arch = "sm_90a", .role_rows = ALL_ROWS
#define CHAINED_IN_ROLES                                                                           \
   .file = PLANTED, .kernel = "chained",                                                           \
   .signature = "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32", .buffers = "hhhF", .n = 600 * 32,   \
   .num_ints = 1, .sizes = {600, 40}, .grid = {1, 1, 1}, .stages = 2, .warps = 8,                  \
   .arch = "sm_90a", .role_rows = ALL_ROWS

/* Boxes that the loop's own warps send for: with what is planted in all kernels, and with what is
 * planted in mbarriers. */
#define MATMUL_BY_OWN_BOXES                                                                        \
   MATMUL,                                                                                         \
   .defines = {{"BLOCK_M", "64"}, {"BLOCK_N", "64"}, {"BLOCK_K", "64"}}, .num_defines = 3,         \
   .buffers = "hhH", .n = 64 * 416, .ints = {64, 64, 0, 416, 1, 64, 1, 64, 1}, .num_ints = 9,      \
   .varied = 2, .sizes = {416, 192}, .grid = {1, 1, 1}, .stages = 3, .warps = 4,                   \
   .arch = "sm_90a", .tma = TILEC_TMA_ON
#define ATTENTION_BY_OWN_BOXES                                                                     \
   ATTENTION,                                                                                      \
   .defines = {{"BLOCK_M", "64"}, {"BLOCK_N", "128"}, {"CAUSAL", "True"}}, .num_defines = 3,       \
   .buffers = "hhhHF", .n = 560 * 64, .ints = {1}, .num_ints = 2, .varied = 1, .sizes = {560},     \
   .scale = 0.125f, .grid = {9, 1, 1}, .stages = 3, .warps = 4, .arch = "sm_90a",                  \
   .tma = TILEC_TMA_ON

/* Tiles in turn, through rings that are filled anew where the one before was transposed. */
#define TILES_BY_OWN_BOXES                                                                         \
   .file = PLANTED, .kernel = "tiles", .signature = "*fp16:16, *fp16:16, *fp32:16, i32",           \
   .buffers = "hhF", .n = 320 * 320, .num_ints = 1, .sizes = {320, 128}, .grid = {1, 1, 1},        \
   .stages = 4, .warps = 4, .arch = "sm_90a", .tma = TILEC_TMA_ON

#define STORED_BY_BOXES                                                                            \
   .file = PLANTED, .kernel = "stored", .signature = "*fp16:16, *fp16:16, *fp16:16, i32",          \
   .buffers = "hhH", .n = 320 * 320, .num_ints = 1, .sizes = {320, 128}, .grid = {1, 1, 1},        \
   .stages = 3, .warps = 4, .arch = "sm_90a", .tma = TILEC_TMA_ON

/* Tensors that the kernel alone knows, one problem after the other: it makes their maps. */
#define GROUPED                                                                                    \
   .file = PLANTED, .kernel = "grouped", .signature = "*fp16:16, *fp16:16, *fp16:16, i32",         \
   .buffers = "hhH", .n = 320 * 320, .num_ints = 1, .sizes = {200, 64}, .grid = {1, 1, 1},         \
   .stages = 2, .arch = "sm_90a", .tma = TILEC_TMA_ON, .role_rows = ALL_ROWS

static const Kernel kernels[] = {
   {.name = "softmax",
    .file = EXAMPLE("softmax"),
    .kernel = "softmax",
    .signature = "*fp16:16, *fp16:16, i32, i32",
    .defines = {{"BLOCK", "512"}},
    .num_defines = 1,
    .buffers = "hH",
    .n = 1000,
    .ints = {2},
    .num_ints = 2,
    .varied = 1,
    .sizes = {500},
    .grid = {2, 1, 1},
    .warps = 4},
   {.name = "layer norm",
    .file = EXAMPLE("layer_norm"),
    .kernel = "layer_norm",
    .signature = "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32, i32, fp32",
    .defines = {{"BLOCK", "512"}},
    .num_defines = 1,
    .buffers = "fffFFF",
    .n = 1000,
    .ints = {2},
    .num_ints = 2,
    .varied = 1,
    .sizes = {500},
    .scale = 1e-5f,
    .grid = {2, 1, 1},
    .warps = 4},
   {.name = "matmul",
    MATMUL,
    .defines = {{"BLOCK_M", "64"}, {"BLOCK_N", "64"}, {"BLOCK_K", "32"}},
    .num_defines = 3,
    .buffers = "hhH",
    .n = 64 * 128,
    .ints = {64, 64, 0, 128, 1, 64, 1, 64, 1},
    .num_ints = 9,
    .varied = 2,
    .sizes = {128, 96, 48, 16},
    .grid = {1, 1, 1},
    .stages = 3,
    .warps = 4},
   {.name = "attention",
    ATTENTION,
    .defines = {{"BLOCK_M", "64"}, {"BLOCK_N", "32"}, {"CAUSAL", "True"}},
    .num_defines = 3,
    .buffers = "hhhHF",
    .n = 144 * 64,
    .ints = {1},
    .num_ints = 2,
    .varied = 1,
    .sizes = {144, 112},
    .scale = 0.125f,
    .grid = {3, 1, 1},
    .stages = 2,
    .warps = 4},
   {.name = "matmul, wgmma",
    MATMUL,
    .defines = {{"BLOCK_M", "64"}, {"BLOCK_N", "64"}, {"BLOCK_K", "64"}},
    .num_defines = 3,
    .buffers = "hhH",
    .n = 64 * 256,
    .ints = {64, 64, 0, 256, 1, 64, 1, 64, 1},
    .num_ints = 9,
    .varied = 2,
    .sizes = {256, 192, 96, 32},
    .grid = {1, 1, 1},
    .stages = 3,
    .warps = 4,
    .arch = "sm_90a"},
   {.name = "attention, wgmma",
    ATTENTION,
    .defines = {{"BLOCK_M", "64"}, {"BLOCK_N", "128"}, {"CAUSAL", "True"}},
    .num_defines = 3,
    .buffers = "hhhHF",
    .n = 400 * 64,
    .ints = {1},
    .num_ints = 2,
    .varied = 1,
    .sizes = {400, 368},
    .scale = 0.125f,
    .grid = {7, 1, 1},
    .stages = 2,
    .warps = 4,
    .arch = "sm_90a"},
   {.name = "matmul, own boxes", MATMUL_BY_OWN_BOXES},
   {.name = "attention, own boxes", ATTENTION_BY_OWN_BOXES},
   {.name = "matmul, mbarriers of own boxes", MATMUL_BY_OWN_BOXES, .role_rows = ALL_ROWS},
   {.name = "chained, mbarriers of own boxes",
    .file = PLANTED,
    .kernel = "chained",
    .signature = "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32",
    .buffers = "hhhF",
    .n = 600 * 32,
    .num_ints = 1,
    .sizes = {600},
    .grid = {1, 1, 1},
    .stages = 3,
    .warps = 4,
    .arch = "sm_90a",
    .tma = TILEC_TMA_ON,
    .role_rows = ALL_ROWS},
   {.name = "tiles, own boxes", TILES_BY_OWN_BOXES},
   {.name = "tiles, mbarriers of own boxes", TILES_BY_OWN_BOXES, .role_rows = ALL_ROWS},
   {.name = "tiles, stored by boxes", STORED_BY_BOXES},
   {.name = "matmul, roles", MATMUL_IN_ROLES(1), .sizes = {640}},
   {.name = "attention, roles",
    ATTENTION,
    .defines = {{"D", "64"}, {"BLOCK_M", "128"}, {"BLOCK_N", "128"}, {"CAUSAL", "False"}},
    .num_defines = 4,
    .buffers = "hhhHF",
    .n = 400 * 64,
    .ints = {1},
    .num_ints = 2,
    .varied = 1,
    .sizes = {400},
    .scale = 0.125f,
    .grid = {1, 1, 1},
    .stages = 2,
    .warps = 8,
    .arch = "sm_90a",
    .role_rows = 3},
   {.name = "causal attention, roles",
    ATTENTION,
    .defines = {{"D", "128"}, {"BLOCK_N", "128"}, {"CAUSAL", "True"}},
    .num_defines = 3,
    .buffers = "hhhHF",
    .n = 400 * 128,
    .ints = {1},
    .num_ints = 2,
    .varied = 1,
    .sizes = {400},
    .scale = 0.125f,
    .grid = {4, 1, 1},
    .stages = 2,
    .warps = 8,
    .arch = "sm_90a",
    .role_rows = 3},
   {.name = "chained, roles", CHAINED_IN_ROLES},
   {.name = "matmul, boxes", /* two blocks: each has a program, and both share a third */
    MATMUL_IN_ROLES(3),
    .sizes = {592},
    .tma = TILEC_TMA_ON,
    .multiprocessors = 2,
    .like = "matmul, roles"},
   /* A cluster of two blocks: (0, 1) and (4, 5) of its programs have the same columns, (6, 7) the
    * same rows, (2, 3) neither, and 8, outside of c, is left over. */
   {.name = "matmul, pairs",
    MATMUL_OF("i32:8"),
    .defines = {{"BLOCK_M", "128"}, {"BLOCK_N", "128"}, {"BLOCK_K", "64"}, {"GROUP", "3"}},
    .num_defines = 4,
    .buffers = "hhH",
    .n = 512 * 272,
    .ints = {512, 256, 0, 272, 1, 264, 1, 256, 1},
    .num_ints = 9,
    .varied = 2,
    .sizes = {272},
    .grid = {9, 1, 1},
    .stages = 4,
    .warps = 8,
    .arch = "sm_90a",
    .role_rows = ALL_ROWS,
    .tma = TILEC_TMA_ON,
    .multiprocessors = 2,
    .like = "matmul, roles"},
   {.name = "chained, boxes", CHAINED_IN_ROLES, .tma = TILEC_TMA_ON, .like = "chained, roles"},
   {.name = "grouped, own maps", GROUPED, .warps = 4},
   {.name = "grouped, own maps in roles", GROUPED, .warps = 8},
   {.name = "scan",
    .file = PLANTED,
    .kernel = "running",
    .buffers = "iI",
    .n = 450,
    .num_ints = 1,
    .sizes = {450},
    .grid = {1, 1, 1},
    .warps = 4},
   {.name = "sum",
    .file = PLANTED,
    .kernel = "total",
    .buffers = "iI",
    .n = 1500,
    .num_ints = 1,
    .sizes = {1500},
    .grid = {2, 1, 1},
    .warps = 4},
   {.name = "sort, gather",
    .file = PLANTED,
    .kernel = "picked",
    .buffers = "iI",
    .n = 250,
    .num_ints = 1,
    .sizes = {250},
    .grid = {1, 1, 1},
    .warps = 4},
   {.name = "histogram",
    .file = PLANTED,
    .kernel = "counts",
    .buffers = "iII",
    .n = 900,
    .num_ints = 1,
    .sizes = {900},
    .grid = {2, 1, 1},
    .warps = 4},
   {.name = "transpose",
    .file = PLANTED,
    .kernel = "turned",
    .buffers = "iI",
    .n = 60 * 64,
    .num_ints = 1,
    .sizes = {60},
    .grid = {1, 1, 1},
    .warps = 4},
   {.name = "transpose, 1 warp",
    .file = PLANTED,
    .kernel = "turned",
    .defines = {{"M", "32"}, {"N", "32"}},
    .num_defines = 2,
    .buffers = "iI",
    .n = 30 * 32,
    .num_ints = 1,
    .sizes = {30},
    .grid = {1, 1, 1},
    .warps = 1},
   {.name = "passed on",
    .file = PLANTED,
    .kernel = "passed_on",
    .buffers = "iI",
    .n = 512,
    .num_ints = 1,
    .sizes = {250},
    .grid = {1, 1, 1},
    .warps = 4},
   {.name = "in place",
    .file = PLANTED,
    .kernel = "in_place",
    .buffers = "iI",
    .n = 192,
    .num_ints = 1,
    .sizes = {64},
    .grid = {1, 1, 1},
    .warps = 4},
   {.name = "cut vectors",
    .file = PLANTED,
    .kernel = "cut",
    .signature = "*fp16:16, *fp16:16, i32",
    .buffers = "hH",
    .n = 250,
    .num_ints = 1,
    .sizes = {250},
    .grid = {1, 1, 1},
    .warps = 1},
};
enum { NUM_KERNELS = sizeof kernels / sizeof kernels[0] };

/* ---- faults ---- */
typedef enum Edit {
   REMOVE,     /* the line */
   REPLACE,    /* `from` by `to` in the line */
   EVERYWHERE, /* in the whole text, where there is such a line */
   REPEAT,     /* the line again, its result under another name */
   DROP_LAST,  /* its last operand, of three */
   KEEP_FIRST, /* its first operand alone */
   SHIFT,      /* its pointer by `to` elements */
   FLIP,       /* the parity it waits for */
   MOVE,       /* it, with the lines up to one with `from`, behind the next with `to` */
} Edit;

typedef struct Fault {
   const char *name;
   Edit edit;
   const char *line; /* words of the line */
   const char *from, *to;
   const char *kernel; /* NULL = all */
   unsigned most;      /* lines of a kernel; 0 = all */
   const char *says;   /* what a report must say, and there must be one; NULL = anything */
} Fault;

static const Fault faults[] = {
   {"barrier missing", REMOVE, "   bar_sync", NULL, NULL, NULL, 0, "barrier"},
   {"warp's barrier missing", REMOVE, "   bar_warp", NULL, NULL, NULL, 0, "barrier"},
   {"warp's barrier for a block's", REPLACE, "   bar_sync", "bar_sync", "bar_warp", NULL, 2,
    "barrier"},
   {"stored boxes not waited for", REMOVE, "   tma_stores_wait", NULL, NULL, NULL, 0, "E06"},
   {"box not stored", REMOVE, "   tma_store %", NULL, NULL, NULL, 0, NULL},
   {"wait missing", REMOVE, "cp_async_wait", NULL, NULL, NULL, 0, "waited for"},
   {"wait leaves one more", REPLACE, "cp_async_wait", "{num = 1}", "{num = 2}", NULL, 0,
    "waited for"},
   {"wait leaves one more", REPLACE, "cp_async_wait", "{num = 2}", "{num = 3}", NULL, 0,
    "waited for"},
   {"wait for all leaves one", REPLACE, "cp_async_wait", "{num = 0}", "{num = 1}", NULL, 0,
    "waited for"},
   {"commit missing", REMOVE, "cp_async_commit", NULL, NULL, NULL, 0, "waited for"},
   {"copy missing", REMOVE, "   cp_async %", NULL, NULL, "matmul", 0, NULL},
   {"copy mask dropped", DROP_LAST, "   cp_async %", NULL, NULL, "matmul", 0, NULL},
   {"stage index wraps wrongly", REPLACE, " = eq ", " = eq ", " = ne ", "matmul", 1, NULL},
   {"stages overlap", EVERYWHERE, "constant 4096 : i32", "constant 4096", "constant 2048", "matmul",
    1, NULL},
   {"buffers overlap", EVERYWHERE, "extent = {begin = 12288, ", "12288", "8192", "matmul", 1, NULL},
   {"buffers overlap", EVERYWHERE, "extent = {begin = 1024, end = 2048}", "1024", "512",
    "sort, gather", 1, NULL},
   {"shared store missing", REMOVE, "   st_shared ", NULL, NULL, NULL, 2, NULL},
   {"shared store 32 bytes off", SHIFT, "   st_shared ", NULL, "32", NULL, 2, NULL},
   {"shared store 2 bytes off", SHIFT, "   st_shared ", NULL, "2", NULL, 1, NULL},
   {"shared load 4 bytes off", SHIFT, " = ld_shared ", NULL, "4", NULL, 1, NULL},
   {"extent too small", REPLACE, "   st_shared ", "begin = 0, ", "begin = 16, ", NULL, 1,
    "within its buffer"},
   {"swizzle lost", REPLACE, " = xor ", " = xor ", " = or ", "transpose", 0, NULL},
   {"swizzle lost", REPLACE, " = xor ", " = xor ", " = or ", "matmul", 4, NULL},
   {"matrix row wrong", SHIFT, " = ldmatrix ", NULL, "64", NULL, 3, NULL},
   {"matrix not transposed", REPLACE, " = ldmatrix", "trans, ", "", NULL, 2, NULL},
   {"shuffle from the wrong lane", REPLACE, " = shfl ", "shfl = bfly", "shfl = up", NULL, 3, NULL},
   {"fence missing", REMOVE, "   fence_async", NULL, NULL, NULL, 0, "E0688"},
   {"fence behind the barrier", REPLACE, "   fence_async", "fence_async\n   bar_sync",
    "bar_sync\n   fence_async", NULL, 0, "E0688"},
   {"product not waited for", REPLACE, " = wgmma_wait ", "num = 0", "num = 1", NULL, 0, "E0689"},
   {"product of the turn before not waited for", REPLACE, " = wgmma_wait ", "num = 1", "num = 2",
    NULL, 0, "E0680"},
   {"product not added", REPLACE, " = wgmma ", ", %acc_2 ", " ", "matmul, wgmma", 1, NULL},
   {"descriptor of other rows", REPLACE, " = wgmma ", "stride = 1024", "stride = 512", NULL, 2,
    NULL},
   {"descriptor of another swizzle", REPLACE, " = wgmma ", "swizzle = 1", "swizzle = 2", NULL, 2,
    NULL},
   {"descriptor of the other major", REPLACE, " = wgmma ", "mn_major = 0", "mn_major = 1", NULL, 2,
    NULL},
   {"product of another place", REPLACE, " = wgmma ", "offsets = [0..96 by 32",
    "offsets = [0..192 by 64", NULL, 2, NULL},
   {"load mask dropped", KEEP_FIRST, " = ld_global ", NULL, NULL, NULL, 1, NULL},
   {"other of a load dropped", DROP_LAST, " = ld_global ", NULL, NULL, "softmax", 1, NULL},
   {"other of a load dropped", DROP_LAST, " = ld_global ", NULL, NULL, "sort, gather", 1, NULL},
   {"store mask dropped", DROP_LAST, "   st_global ", NULL, NULL, "softmax", 1, NULL},
   {"store mask dropped", DROP_LAST, "   st_global ", NULL, NULL, "layer norm", 1, NULL},
   {"store mask dropped", DROP_LAST, "   st_global ", NULL, NULL, "scan", 1, NULL},
   {"store mask dropped", DROP_LAST, "   st_global ", NULL, NULL, "sort, gather", 1, NULL},
   {"store by those that own nothing", DROP_LAST, "   st_global ", NULL, NULL, "in place", 1, NULL},
   {"mask one too far", REPLACE, " = lt ", " = lt ", " = le ", "scan", 1, NULL},
   {"mask one too far", REPLACE, " = lt ", " = lt ", " = le ", "histogram", 1, NULL},
   {"mask inverted", REPLACE, " = lt ", " = lt ", " = ge ", NULL, 1, NULL},
   {"part of a vector too long", REPLACE, " = min ", " = min ", " = max ", "cut vectors", 1, NULL},
   {"part of a vector too long", REPLACE, " = sub ", " = sub ", " = add ", "cut vectors", 1, NULL},
   {"part of a vector too short", REPLACE, " = mul ", " = mul ", " = min ", "cut vectors", 1, NULL},
   {"global load one element off", SHIFT, " = ld_global ", NULL, "1", NULL, 1, NULL},
   {"global store one element off", SHIFT, "   st_global ", NULL, "1", NULL, 1, NULL},
   {"global store far out", SHIFT, "   st_global ", NULL, "100000", NULL, 1, "outside buffer"},
   {"neutral value wrong", REPLACE, "constant 0 : regs", "constant 0", "constant 1", "sum", 1,
    NULL},
   {"atomic done twice", REPEAT, " = atom_rmw ", NULL, NULL, NULL, 0, NULL},
   {"atomic done twice", REPEAT, "   atom_shared ", NULL, NULL, NULL, 0, NULL},
   {"atomic by those that own nothing", DROP_LAST, " = atom_rmw ", NULL, NULL, "sum", 1, NULL},
   {"atomic mask dropped", DROP_LAST, " = atom_rmw ", NULL, NULL, "histogram", 1, NULL},
   {"atomic of another kind", REPLACE, " = atom_rmw ", "rmw = add", "rmw = max", "histogram", 1,
    NULL},
};
enum { NUM_FAULTS = sizeof faults / sizeof faults[0] };

/* Of the protocol between warps that copy and warps that multiply. */
static const Fault role_faults[] = {
   {"wait missing", REMOVE, "   mbar_wait ", NULL, NULL, NULL, 0, NULL},
   {"arrival missing", REMOVE, "   mbar_arrive ", NULL, NULL, NULL, 0, "E0686"},
   {"copies' arrival missing", REMOVE, "   cp_async_arrive ", NULL, NULL, NULL, 0, "E0686"},
   {"wait behind the copy", MOVE, "   mbar_wait ", NULL, "   cp_async %", NULL, 0, NULL},
   {"wait behind the product", MOVE, "   mbar_wait ", NULL, " = wgmma ", NULL, 0, NULL},
   {"wait for the other parity", FLIP, "   mbar_wait ", NULL, NULL, NULL, 0, NULL},
   {"wait for another stage", SHIFT, "   mbar_wait ", NULL, "8", NULL, 0, NULL},
   {"arrival twice", REPEAT, "   mbar_arrive ", NULL, NULL, NULL, 0, NULL},
   {"arrival at another stage", SHIFT, "   mbar_arrive ", NULL, "8", NULL, 0, NULL},
   {"arrival before the product", MOVE, " = wgmma ", " = wgmma_wait ", "   mbar_arrive ", NULL, 0,
    NULL},
   {"arrival before the product is waited for", MOVE, " = wgmma_wait ", NULL, "   mbar_arrive ",
    NULL, 0, NULL},
   {"product not waited for", REPLACE, " = wgmma_wait ", "num = 0", "num = 1", NULL, 0, NULL},
   {"arrival of all lanes", KEEP_FIRST, "   mbar_arrive ", NULL, NULL, NULL, 0, NULL},
   {"copies' arrival twice", REPEAT, "   cp_async_arrive ", NULL, NULL, NULL, 0, NULL},
   {"copies' arrival at another stage", SHIFT, "   cp_async_arrive ", NULL, "8", NULL, 0, NULL},
   {"copies' arrival before a copy", MOVE, "   cp_async %", NULL, "   cp_async_arrive ", NULL, 0,
    NULL},
   {"copy to another stage", SHIFT, "   cp_async ", NULL, "16384", NULL, 0, NULL},
   {"copy missing", REMOVE, "   cp_async %", NULL, NULL, NULL, 0, NULL},
   {"more copiers awaited", REPLACE, "   mbar_init ", "arrivals = 128", "arrivals = 129", NULL, 0,
    "E0686"},
   {"fewer copiers awaited", REPLACE, "   mbar_init ", "arrivals = 128", "arrivals = 127", NULL, 0,
    NULL},
   {"a warp of copiers not awaited", REPLACE, "   mbar_init ", "arrivals = 128", "arrivals = 96",
    NULL, 0, NULL},
   {"more readers awaited", REPLACE, "   mbar_init ", "arrivals = 8", "arrivals = 9", NULL, 0,
    "E0686"},
   {"fewer readers awaited", REPLACE, "   mbar_init ", "arrivals = 8", "arrivals = 7", NULL, 0,
    NULL},
   {"readers of one block awaited", REPLACE, "   mbar_init ", "arrivals = 16", "arrivals = 8", NULL,
    0, NULL},
   {"arrival in one block only", REPLACE, "   mbar_arrive ", " {both}", "", NULL, 0, "E0686"},
   {"box for one block only", REPLACE, "   tma_load %", ", both}", "}", NULL, 0, "E0686"},
   /* At the beginning a race of who makes mbarriers, at the end E0694. */
   {"a block does not wait for the other", REPLACE, "   cluster_sync", "cluster_sync", "bar_sync",
    NULL, 0, "E06"},
   {"blocks begin by themselves", REMOVE, "   cluster_sync", NULL, NULL, NULL, 1, "E0680"},
   {"mbarrier not made", REMOVE, "   mbar_init ", NULL, NULL, NULL, 0, NULL},
   {"mbarriers used before all know of them", REMOVE, "   bar_sync\n", NULL, NULL, NULL, 0, NULL},
   {"product of another stage", SHIFT, " = wgmma ", NULL, "16384", "matmul, roles", 0, NULL},
   {"boxes of the tile before not waited for", REMOVE, "   tma_stores_wait {", NULL, NULL, NULL, 0,
    "E0680"},
   {"stored boxes not waited for", REMOVE, "   tma_stores_wait\n", NULL, NULL, NULL, 0, "E0691"},
   {"box not stored", REMOVE, "   tma_store %", NULL, NULL, NULL, 0, NULL},
   {"barrier of the role missing", REMOVE, "   bar_sync {", NULL, NULL, NULL, 0, "barrier"},
   {"barrier of the block in a role", REPLACE, "   bar_sync {", " {barrier = 1}", "", NULL, 0,
    NULL},
   {"fence missing", REMOVE, "   fence_async", NULL, NULL, NULL, 0, "E0688"},
   {"warp's barrier missing", REMOVE, "   bar_warp", NULL, NULL, NULL, 0, NULL},
   {"parity kept", REPLACE, " = xor %", " = xor ", " = or ", "matmul, roles", 0, NULL},
   {"parity kept", REPLACE, " = xor %", " = xor ", " = or ", "tiles, mbarriers of own boxes", 0,
    NULL},
   {"stage index wraps wrongly", REPLACE, " = eq ", " = eq ", " = ne ",
    "tiles, mbarriers of own boxes", 0, NULL},
   {"wait behind the box", MOVE, "   mbar_wait ", NULL, "   tma_load %", NULL, 0, NULL},
   {"boxes not expected", REMOVE, "   mbar_expect ", NULL, NULL, NULL, 0, "E0686"},
   {"boxes expected twice", REPEAT, "   mbar_expect ", NULL, NULL, NULL, 0, NULL},
   {"boxes expected by all lanes", KEEP_FIRST, "   mbar_expect ", NULL, NULL, NULL, 0, "E0692"},
   {"boxes expected at another stage", SHIFT, "   mbar_expect ", NULL, "8", NULL, 0, NULL},
   {"fewer bytes expected", REPLACE, "   mbar_expect ", "8}", "0}", NULL, 0, "E0686"},
   {"more bytes expected", REPLACE, "   mbar_expect ", "{bytes = ", "{bytes = 1", NULL, 0, "E0686"},
   {"box missing", REMOVE, "   tma_load %", NULL, NULL, NULL, 0, "E0686"},
   {"box twice", REPEAT, "   tma_load %", NULL, NULL, NULL, 0, NULL},
   {"box to another stage", SHIFT, "   tma_load ", NULL, "16384", NULL, 0, NULL},
   {"swizzle lost", REPLACE, " = tensor_map ", "swizzle = 128", "swizzle = 0", NULL, 0, NULL},
   {"swizzle lost", REPLACE, " = tensor_map ", "swizzle = 64", "swizzle = 0", NULL, 0, NULL},
   {"map not fenced", REMOVE, "   map_fence ", NULL, NULL, NULL, 0, "E0693"},
   {"swizzle lost", REPLACE, " = map_write ", "swizzle = 128", "swizzle = 0", NULL, 0, NULL},
   {"map made while boxes are stored", REPLACE, " = map_write ", ", written", "", NULL, 0, "E0693"},
   {"place left while boxes are stored", REPLACE, "   map_leave ", ", written", "", NULL, 0,
    "E0693"},
   {"nobody sends", REPLACE, "   mbar_init ", "arrivals = 1}", "arrivals = 2}", NULL, 0, "E0686"},
};
enum { NUM_ROLE_FAULTS = sizeof role_faults / sizeof role_faults[0] };

/* Changes that leave the kernel right; which of its lines, from 1. */
static const struct Harmless {
   const char *kernel, *fault;
   unsigned line;
   const char *why;
} harmless[] = {
   {"attention", "wait missing", 8, "nothing touches shared memory after the last loop"},
   {"attention", "wait for all leaves one", 2, "nothing touches shared memory after the last loop"},
   {"attention, wgmma", "wait for all leaves one", 2,
    "nothing touches shared memory after the last loop"},
   {"attention, wgmma", "commit missing", 8,
    "the last loop has one turn: nothing is copied any more"},
   {"attention, own boxes", "barrier missing", 1, "the one before the loop is in time"},
   {"attention, own boxes", "barrier missing", 5,
    "one group of four warps multiplies: its wait for the product is everybody's"},
   {"attention, own boxes", "warp's barrier for a block's", 1,
    "the barrier before the loop is in time"},
   {"chained, mbarriers of own boxes", "mbarriers used before all know of them", 1,
    "the barrier before the loop is in time"},
   {"tiles, own boxes", "barrier missing", 1, "the one before a tile's first boxes is in time"},
   {"tiles, own boxes", "warp's barrier for a block's", 1,
    "the barrier before a tile's first boxes is in time"},
   {"tiles, mbarriers of own boxes", "mbarriers used before all know of them", 1,
    "the barrier before a tile's first boxes is in time"},
   {"matmul", "copy mask dropped", 1, "the other operand's copy brings zeros there"},
   {"matmul", "copy mask dropped", 2, "the other operand's copy brings zeros there"},
   {"matmul", "copy mask dropped", 3, "the other operand's copy brings zeros there"},
   {"matmul", "copy mask dropped", 4, "the other operand's copy brings zeros there"},
   {"in place", "load mask dropped", 1, "all elements are there"},
   {"passed on", "load mask dropped", 1, "what is loaded besides is there, and not stored"},
   {"sum", "barrier missing", 2, "orders global accesses before an atomic; here there are none"},
   {"sum", "barrier missing", 3, "orders global accesses after an atomic; here there are none"},
   {"sum", "warp's barrier for a block's", 2,
    "orders global accesses before an atomic; here are none"},
   {"attention, roles", "wait missing", 3,
    "the wait for the values of the turn before says as much"},
   {"attention, roles", "arrival missing", 5, "one more block is copied, to the other stage"},
   {"attention, roles", "arrival missing", 6, "nothing is copied any more"},
   {"attention, roles", "arrival missing", 7, "nothing is copied any more"},
   {"causal attention, roles", "arrival missing", 5,
    "one more block is copied, to the other stage"},
   {"causal attention, roles", "arrival missing", 6, "nothing is copied any more"},
   {"causal attention, roles", "arrival missing", 7, "nothing is copied any more"},
   {"chained, roles", "wait for another stage", 1, "the turn before waited for this stage"},
   {"chained, roles", "wait for another stage", 3, "the turn before waited for this stage"},
   {"chained, roles", "arrival before the product", 2,
    "the copier waits for the values of this turn, too"},
   {"chained, roles", "arrival missing", 9, "nothing is copied any more"},
   {"chained, roles", "arrival twice", 9, "nothing is copied any more"},
   {"chained, roles", "arrival of all lanes", 9, "nothing is copied any more"},
   {"chained, roles", "arrival before the product is waited for", 9, "nothing is copied any more"},
   {"chained, roles", "arrival missing", 10, "nothing is copied any more"},
   {"chained, roles", "arrival twice", 10, "nothing is copied any more"},
   {"chained, roles", "arrival of all lanes", 10, "nothing is copied any more"},
   {"chained, roles", "arrival before the product is waited for", 10, "nothing is copied any more"},
   {"chained, roles", "arrival before the product", 3,
    "the arrival is at a stage of the other ring"},
   {"chained, roles", "arrival before the product", 7,
    "the arrival is at a stage of the other ring"},
   {"chained, roles", "arrival before the product", 6,
    "the copier waits for the values of this turn, too"},
   {"chained, roles", "arrival before the product", 8, "nothing is copied any more"},
   {"chained, roles", "arrival before the product is waited for", 3,
    "the copier waits for the values of this turn, too"},
   {"chained, roles", "arrival before the product is waited for", 8,
    "the copier waits for the values of this turn, too"},
   {"matmul, roles", "barrier of the block in a role", 1, "the other warps meet no more"},
   {"matmul, roles", "barrier of the block in a role", 2, "the other warps meet no more"},
   {"chained, roles", "barrier of the block in a role", 1, "the other warps meet no more"},
   {"chained, roles", "barrier of the block in a role", 2, "the other warps meet no more"},
   {"matmul, roles", "warp's barrier missing", 1, "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 1,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 2,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 3,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 4,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 5,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 6,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 7,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 8,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 9,
    "all lanes have waited for the product together"},
   {"chained, roles", "warp's barrier missing", 10,
    "all lanes have waited for the product together"},
};

/* The same of one way to copy only, by threads or by boxes. */
static const struct Harmless harmless_by_name[] = {
   {"matmul, boxes", "wait for another stage", 3, "this group of warps reads nothing there"},
   {"matmul, boxes", "warp's barrier missing", 2, "all lanes have waited for the stage together"},
   {"matmul, pairs", "warp's barrier missing", 2, "all lanes have waited for the stage together"},
   {"chained, boxes", "arrival at another stage", 9, "nothing is copied any more"},
   {"chained, boxes", "arrival at another stage", 10, "nothing is copied any more"},
   {"grouped, own maps in roles", "wait missing", 1,
    "the others wait for this stage when it is sent for: here it lands at once"},
   {"grouped, own maps in roles", "wait for another stage", 1,
    "the others wait for this stage when it is sent for: here it lands at once"},
   {"grouped, own maps in roles", "wait for another stage", 5,
    "waits until the others are done with a stage: the last boxes have landed"},
   {"grouped, own maps in roles", "warp's barrier missing", 1,
    "all lanes have waited for the product together"},
   {"tiles, stored by boxes", "stored boxes not waited for", 3, "the other wait is for both"},
   {"tiles, stored by boxes", "stored boxes not waited for", 4, "the other wait is for both"},
   {"chained, roles", "wait behind the product", 3, "the copies behind these have been waited for"},
   {"chained, roles", "wait behind the product", 7, "the copies behind these have been waited for"},
};

/* ---- running ---- */
typedef struct Outcome {
   TilecStatus status;
   TilecFault fault;
   char message[2048]; /* of the fault, in full */
   void *data[MAX_BUFFERS];
} Outcome;

static TilecProgram *
compile(const Kernel *k, const char *source, TilecSession **session)
{
   TilecSessionOptions so = {.struct_size = sizeof so};
   assert_int_equal(tilec_session_new(&so, session), TILEC_OK);
   TilecCompileOptions o = {.struct_size = sizeof o,
                            .file = k->file,
                            .kernel = k->kernel,
                            .signature = k->signature,
                            .defines = k->defines,
                            .num_defines = k->num_defines,
                            .num_stages = k->stages,
                            .num_warps = k->warps,
                            .arch = k->arch ? k->arch : "sm_90",
                            .tma = k->tma,
                            .stop_after = TILEC_STAGE_LOWERED};
   if (source)
      o = (TilecCompileOptions){.struct_size = sizeof o,
                                .file = "planted.tir",
                                .source = source,
                                .source_bytes = strlen(source),
                                .stop_after = TILEC_STAGE_LOWERED};
   TilecProgram *p = NULL;
   return tilec_compile(*session, &o, &p) == TILEC_OK ? p : NULL;
}

static size_t
element_bytes(char kind)
{
   return kind == 'h' || kind == 'H' ? 2 : 4;
}

static double
element(const Kernel *k, const Outcome *o, unsigned buffer, size_t i)
{
   switch (k->buffers[buffer]) {
   case 'h':
   case 'H':
      return tl_bits_to_double(TL_FP16, ((const uint16_t *)o->data[buffer])[i]);
   case 'f':
   case 'F':
      return ((const float *)o->data[buffer])[i];
   default:
      return ((const int32_t *)o->data[buffer])[i];
   }
}

static void *
filled(char kind, size_t n, uint32_t *rng)
{
   size_t bytes = n * element_bytes(kind);
   void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
   memset(data, 0, bytes);
   for (size_t i = 0; i < n && kind >= 'a'; i++) {
      *rng = *rng * 1664525u + 1013904223u;
      double x = (double)(*rng >> 8) / (1 << 24) - 0.5;
      if (kind == 'h')
         ((uint16_t *)data)[i] = (uint16_t)tl_double_to_bits(TL_FP16, x, TL_ROUND_NEAREST_EVEN);
      else if (kind == 'f')
         ((float *)data)[i] = (float)x;
      else
         ((int32_t *)data)[i] = (int32_t)(*rng >> 26);
   }
   return data;
}

static void
keep_message(void *user, const char *text, size_t len)
{
   Outcome *out = user;
   snprintf(out->message, sizeof out->message, "%.*s", (int)len, text);
}

static void
run(const Kernel *k, const TilecProgram *p, TilecHostMode mode, int64_t size, Outcome *out)
{
   *out = (Outcome){0};
   TilecArg args[MAX_ARGS];
   size_t n = 0;
   uint32_t rng = 5;
   for (unsigned i = 0; k->buffers[i]; i++) {
      out->data[i] = filled(k->buffers[i], k->n, &rng);
      args[n++] = tilec_ptr(TILEC_DTYPE_NONE, out->data[i], k->n * element_bytes(k->buffers[i]));
   }
   for (unsigned i = 0; i < k->num_ints; i++)
      args[n++] = tilec_int(TILEC_I32, i == k->varied ? size : k->ints[i]);
   if (k->scale != 0)
      args[n++] = tilec_fp32(k->scale);
   TilecHostLaunch l = {.struct_size = sizeof l,
                        .mode = mode,
                        .grid = {k->grid[0], k->grid[1], k->grid[2]},
                        .args = args,
                        .num_args = n,
                        .num_threads = 1,
                        .multiprocessors = k->multiprocessors,
                        .on_fault = keep_message,
                        .user = out,
                        .timeout_ms = 20000};
   out->status = tilec_program_run_cpu(p, &l, &out->fault);
}

static void
release(Outcome *o)
{
   for (unsigned i = 0; i < MAX_BUFFERS; i++)
      free(o->data[i]);
}

/* Integers are equal; sums of at most 512 products of values below 1, rounded to fp16, agree within
 * 4e-3 of the largest. */
static bool
same_result(const Kernel *k, const Outcome *want, const Outcome *got)
{
   for (unsigned b = 0; k->buffers[b]; b++) {
      double most = 0;
      for (size_t i = 0; i < k->n && (k->buffers[b] == 'H' || k->buffers[b] == 'F'); i++)
         most = fmax(most, 4e-3 * fabs(element(k, want, b, i)));
      for (size_t i = 0; i < k->n && k->buffers[b] < 'a'; i++) {
         double x = element(k, want, b, i), y = element(k, got, b, i);
         if (!(fabs(x - y) <= most) && !(isnan(x) && isnan(y)) && x != y)
            return false;
      }
   }
   return true;
}

/* ---- editing ---- */
/* End of the operands of an operation: before its attributes or type. */
static const char *
operands_end(const char *line)
{
   static const char *const after[] = {" {", " : "};
   const char *end = line + strcspn(line, "\n");
   for (unsigned i = 0; i < 2; i++) {
      const char *at = strstr(line, after[i]);
      end = at && at < end ? at : end;
   }
   return end;
}

static unsigned
commas(const char *from, const char *end)
{
   unsigned n = 0;
   for (; from < end; from++)
      n += *from == ',';
   return n;
}

/* Where the text gives `name` a value: its definition or its place among what a loop carries; NULL
 * for a parameter. */
static const char *
definition(const char *text, const char *name, bool *is_carried)
{
   char def[160];
   snprintf(def, sizeof def, "%s = ", name);
   for (const char *at = text; (at = strstr(at, def)); at++) {
      const char *line = at;
      while (line > text && line[-1] != '\n')
         line--;
      const char *loop = strstr(line, " iter(");
      *is_carried = loop && loop < at;
      if (strchr(" (", at[-1]))
         return at + strlen(def);
   }
   return NULL;
}

/* The type of value `name`: behind its definition, that of what it begins with, or in a parameter
 * list. */
static bool
type_of(const char *text, const char *name, char *type, size_t room)
{
   char word[160];
   bool is_carried;
   const char *at = definition(text, name, &is_carried), *end;
   if (at && is_carried) {
      snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ",)"), at);
      return type_of(text, word, type, room);
   }
   if (at) {
      end = at + strcspn(at, "\n");
      const char *colon = NULL;
      for (const char *c = at; (c = strstr(c, " : ")) && c < end; c++)
         colon = c;
      at = colon ? colon + 3 : NULL;
   } else {
      snprintf(word, sizeof word, "%s: ", name);
      at = strstr(text, word);
      at = at ? at + strlen(word) : NULL;
      end = at ? at + strcspn(at, ">") + 1 : NULL;
   }
   if (at)
      snprintf(type, room, "%.*s", (int)(end - at), at);
   return at != NULL;
}

/* The pointer of the line's operation `by` elements further, its shared address so many bytes:
 * lines before it, and the line. */
static char *
shifted(const char *text, const char *line, const char *op, const char *by, char *out)
{
   const char *ptr = strstr(line, op) + strlen(op);
   size_t len = strcspn(ptr, " ,\n");
   char name[128], type[256], offset[64] = "i32";
   snprintf(name, sizeof name, "%.*s", (int)len, ptr);
   if (!type_of(text, name, type, sizeof type))
      return NULL;
   char *w = out + sprintf(out, "%.*s", (int)(line - text), text);
   w += sprintf(w, "   %%planted0 = constant %s : i32\n", by);
   const char *count = strncmp(type, "regs<", 5) == 0 ? strrchr(type, ',') : NULL;
   if (count) {
      snprintf(offset, sizeof offset, "regs<i32%s", count);
      w += sprintf(w, "   %%planted1 = splat %%planted0 : %s\n", offset);
   }
   w += sprintf(w, "   %%planted2 = %s %s, %%planted%d : %s\n",
                strstr(type, "ptr<") ? "addptr" : "add", name, count != NULL, type);
   sprintf(w, "%.*s%%planted2%s", (int)(ptr - line), line, ptr + len);
   return out;
}

static char *
everywhere(const char *text, const char *from, const char *to, char *out)
{
   char *w = out;
   for (const char *at; (at = strstr(text, from)); text = at + strlen(from))
      w += sprintf(w, "%.*s%s", (int)(at - text), text, to);
   strcpy(w, text);
   return out;
}

/* The line's operation with its second operand, a parity, turned. */
static char *
flipped(const char *text, const char *line, char *out)
{
   const char *parity = strchr(line, ',') + 2;
   int len = (int)strcspn(parity, " \n");
   char *w = out + sprintf(out, "%.*s", (int)(line - text), text);
   w += sprintf(w, "   %%planted0 = constant 1 : i32\n");
   w += sprintf(w, "   %%planted1 = xor %.*s, %%planted0 : i32\n", len, parity);
   sprintf(w, "%.*s%%planted1%s", (int)(parity - line), line, parity + len);
   return out;
}

static bool
names(const char *from, const char *end, const char *name, size_t len)
{
   for (const char *at = from; (at = strchr(at, '%')) && at < end; at++)
      if (!strncmp(at, name, len) && strspn(at + len, "_0123456789") == 0)
         return true;
   return false;
}

/* Behind the line of this block that has the words, from `line` on; NULL: there is none. */
static const char *
behind_words(const char *line, const char *words)
{
   for (; *line; line += strcspn(line, "\n") + 1) {
      const char *name = line + strspn(line, " "), *end = line + strcspn(line, "\n");
      const char *at = strstr(line, words);
      if (at && at < end)
         return end + 1;
      if (*name == '}' || end[-1] == '{' || !strncmp(name, "yield", 5))
         return NULL;
   }
   return NULL;
}

/* The lines from `line` up to one with `last` behind one with `to`; NULL: not in this block, or
 * what they would be behind needs them. */
static char *
moved(const char *text, const char *line, const char *last, const char *to, char *out)
{
   const char *end = last ? behind_words(line, last) : line + strcspn(line, "\n") + 1;
   const char *there = end ? behind_words(end, to) : NULL;
   if (!there)
      return NULL;
   for (const char *l = line; l < end; l += strcspn(l, "\n") + 1)
      for (const char *name = l + strspn(l, " "), *equals = strstr(name, " = ");
           *name == '%' && name < equals; name += strspn(name, ", ")) {
         size_t len = strcspn(name, ", ");
         if (names(end, there, name, len))
            return NULL;
         name += len;
         if (name == equals)
            break;
      }
   sprintf(out, "%.*s%.*s%.*s%s", (int)(line - text), text, (int)(there - end), end,
           (int)(end - line), line, there);
   return out;
}

/* The text with the fault at this line; NULL: it has no place there. */
static char *
plant(const Fault *f, const char *text, const char *line)
{
   const char *next = line + strcspn(line, "\n") + 1, *name = line + strspn(line, " ");
   const char *equals = *name == '%' ? strstr(line, " = ") : NULL; /* behind the result */
   const char *args = strchr(equals ? equals : name, '%');
   char *out = calloc(1, 2 * strlen(text) + 1024);
   const char *from = f->from ? strstr(line, f->from) : NULL, *end = operands_end(line), *cut = end;
   char *done = out;
   int head = (int)(line - text);
   switch (f->edit) {
   case REMOVE:
      sprintf(out, "%.*s%s", head, text, next);
      break;
   case REPLACE:
      if (from && from < next)
         sprintf(out, "%.*s%s%s", (int)(from - text), text, f->to, from + strlen(f->from));
      else
         done = NULL;
      break;
   case EVERYWHERE:
      done = everywhere(text, f->from, f->to, out);
      break;
   case REPEAT:
      from = equals ? equals : line;
      sprintf(out, "%.*s%s%.*s%s", (int)(next - text), text, equals ? "   %planted" : "",
              (int)(next - from), from, next);
      break;
   case DROP_LAST:
   case KEEP_FIRST:
      if (commas(args, end) < (f->edit == DROP_LAST ? 2 : 1)) {
         done = NULL;
         break;
      }
      for (cut = f->edit == DROP_LAST ? end : args; *cut != ',';)
         cut += f->edit == DROP_LAST ? -1 : 1;
      sprintf(out, "%.*s%s", (int)(cut - text), text, end);
      break;
   case SHIFT:
      done = shifted(text, line, f->line + strspn(f->line, " ="), f->to, out);
      break;
   case FLIP:
      done = flipped(text, line, out);
      break;
   case MOVE:
      done = moved(text, line, f->from, f->to, out);
      break;
   }
   if (!done)
      free(out);
   return done;
}

/* ---- the table ---- */
typedef struct Subject {
   const Kernel *kernel;
   const char *text;
   Outcome want[MAX_SIZES]; /* of the CPU executor */
} Subject;

typedef struct Tally {
   unsigned planted, reported, wrong, missed, harmless;
} Tally;

static const struct Harmless *
find_harmless(const struct Harmless *all, size_t num, const char *kernel, const Fault *f,
              unsigned nth)
{
   for (size_t i = 0; i < num; i++)
      if (!strcmp(all[i].kernel, kernel) && !strcmp(all[i].fault, f->name) && all[i].line == nth)
         return &all[i];
   return NULL;
}

static const struct Harmless *
is_harmless(const Kernel *k, const Fault *f, unsigned nth)
{
   enum { NUM = sizeof harmless / sizeof harmless[0] };
   enum { NUM_BY_NAME = sizeof harmless_by_name / sizeof harmless_by_name[0] };
   const struct Harmless *h = find_harmless(harmless, NUM, k->like ? k->like : k->name, f, nth);
   return h ? h : find_harmless(harmless_by_name, NUM_BY_NAME, k->name, f, nth);
}

/* A race or a copy in flight names both places. */
static bool
has_both_places(const char *message)
{
   bool is_pair = strstr(message, "E0680") || strstr(message, "E0681") || strstr(message, "E0687");
   return !is_pair || strstr(message, "note: the other access") ||
          strstr(message, "note: the copy");
}

/* A barrier may make other threads' waits count as well: without it bytes are touched that their
 * copier has not waited for. */
static bool
says(const char *message, const char *what)
{
   return !what || strstr(message, what) ||
          (strcmp(what, "barrier") == 0 && strstr(message, "waited for"));
}

/* "" when no size shows the fault. */
static void
how_caught(const Subject *s, const Fault *f, const TilecProgram *p, char *how, size_t room)
{
   *how = 0;
   for (unsigned i = 0; i < MAX_SIZES && s->kernel->sizes[i]; i++) {
      Outcome o;
      run(s->kernel, p, TILEC_HOST_SIM, s->kernel->sizes[i], &o);
      bool is_told = o.status == TILEC_FAULT && o.fault.line && has_both_places(o.message);
      const char *code = strstr(o.message, "error[");
      if (is_told && says(o.message, f->says))
         snprintf(how, room, "%.5s line %u%s", code ? code + 6 : "", o.fault.line,
                  strstr(o.message, "note: the ") ? " and the other" : "");
      else if (!*how && o.status != TILEC_OK)
         snprintf(how, room, "?%s", o.message);
      else if (!*how && !same_result(s->kernel, &s->want[i], &o))
         snprintf(how, room, "%swrong result", f->says ? "?" : "");
      release(&o);
      if (*how && *how != '?')
         return;
   }
}

static void
try_fault(const Subject *s, const Fault *f, const char *line, unsigned nth, char *text,
          Tally *tally)
{
   TilecSession *session;
   TilecProgram *p = compile(s->kernel, text, &session);
   int len = (int)strcspn(line, "\n");
   if (!p)
      fail_msg("%s, %s: '%.*s' does not compile: %s", s->kernel->name, f->name, len, line,
               tilec_session_error(session));
   char how[2100];
   how_caught(s, f, p, how, sizeof how);
   const struct Harmless *h = is_harmless(s->kernel, f, nth);
   print_message("| %s | %s, %u | %s |\n", s->kernel->name, f->name, nth,
                 *how ? how
                 : h  ? h->why
                      : "not caught");
   tally->planted++;
   tally->reported += *how == 'E';
   tally->wrong += *how == 'w';
   tally->harmless += !*how && h;
   if (*how == '?' || (!*how && !h) || (*how && h)) {
      print_message("   %.*s\n", len, line);
      tally->missed++;
   }
   tilec_program_free(p);
   tilec_session_free(session);
}

static void
plant_all(const Subject *s, const Fault *f, Tally *tally)
{
   if (f->kernel && strcmp(f->kernel, s->kernel->name))
      return;
   unsigned nth = 0;
   for (const char *line = s->text; *line; line += strcspn(line, "\n") + 1) {
      const char *at = strstr(line, f->line);
      if (!at)
         return;
      if (at > line + strcspn(line, "\n") || (f->most && nth == f->most))
         continue;
      char *text = plant(f, s->text, line);
      if (text)
         try_fault(s, f, line, ++nth, text, tally);
      free(text);
   }
}

static void
open_subject(Subject *s, const Kernel *k)
{
   TilecSession *session;
   *s = (Subject){.kernel = k};
   TilecProgram *p = compile(k, NULL, &session);
   if (!p)
      fail_msg("%s: %s", k->name, tilec_session_error(session));
   s->text = strdup(tilec_program_text(p, TILEC_STAGE_LOWERED, NULL));
   if (k->role_rows && !strstr(s->text, " mbar_wait "))
      fail_msg("%s: no mbarriers to make faults of", k->name);
   for (unsigned i = 0; i < MAX_SIZES && k->sizes[i]; i++) {
      Outcome got;
      run(k, p, TILEC_HOST_CPU, k->sizes[i], &s->want[i]);
      run(k, p, TILEC_HOST_SIM, k->sizes[i], &got);
      if (s->want[i].status != TILEC_OK || got.status != TILEC_OK)
         fail_msg("%s: %s%s", k->name, s->want[i].message, got.message);
      if (!same_result(k, &s->want[i], &got))
         fail_msg("%s: the simulator and the CPU executor differ", k->name);
      release(&got);
   }
   tilec_program_free(p);
   tilec_session_free(session);
}

static unsigned part, parts = 1;

static void
each_is_caught(void **state)
{
   (void)state;
   static Subject subject[NUM_KERNELS];
   Tally all = {0};
   for (unsigned k = 0; k < NUM_KERNELS; k++)
      open_subject(&subject[k], &kernels[k]);
   for (unsigned i = part; i < NUM_FAULTS + NUM_ROLE_FAULTS; i += parts) {
      bool of_roles = i >= NUM_FAULTS;
      const Fault *f = of_roles ? &role_faults[i - NUM_FAULTS] : &faults[i];
      unsigned before = all.planted;
      for (unsigned k = 0; k < NUM_KERNELS; k++)
         if (of_roles ? i - NUM_FAULTS < kernels[k].role_rows : !kernels[k].role_rows)
            plant_all(&subject[k], f, &all);
      if (all.planted == before)
         fail_msg("'%s' (%s) found no place", f->name, f->line);
   }
   for (unsigned k = 0; k < NUM_KERNELS; k++) {
      for (unsigned i = 0; i < MAX_SIZES; i++)
         release(&subject[k].want[i]);
      free((char *)subject[k].text);
   }
   print_message(
      "%u faults planted by %u rows: %u reported, %u wrong results, %u harmless; %u missed\n",
      all.planted, (unsigned)(NUM_FAULTS + NUM_ROLE_FAULTS), all.reported, all.wrong, all.harmless,
      all.missed);
   assert_int_equal(all.missed, 0);
   assert_true(all.reported + all.wrong >= 30);
}

int
main(int argc, char **argv)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_is_caught),
   };
   if (argc == 3) {
      part = (unsigned)strtoul(argv[1], NULL, 10);
      parts = (unsigned)strtoul(argv[2], NULL, 10);
   }
   if (argc == 2 || argc > 3 || part >= parts) {
      fprintf(stderr, "usage: planted [PART PARTS]\n");
      return 2;
   }
   return cmocka_run_group_tests(tests, NULL, NULL);
}
