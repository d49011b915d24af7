/* Does racecheck follow copies whose end an mbarrier says?  The ring of PTX ISA's "cp.async.mbarrier.arrive":
 * four warps copy 16 bytes a thread to one of three stages, four others wait for its mbarrier, read
 * it and give it back: each thread, or with ELECTED a lane of each warp behind the warp's barrier.
 *    nvcc -arch=sm_90a [-DELECTED] racecheck_ring.cu -o ring
 *    compute-sanitizer --tool racecheck ./ring */
#include <cstdint>
#include <cstdio>

constexpr int STAGES = 3, TURNS = 12, THREADS = 128;
#ifdef ELECTED
constexpr int GIVERS = THREADS / 32; /* a lane of each warp gives a stage back, for all of them */
#else
constexpr int GIVERS = THREADS;
#endif

__device__ void
wait(uint32_t barrier, uint32_t parity)
{
   asm volatile("{ .reg .pred p; W_%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
                " @!p bra W_%=; }" ::"r"(barrier), "r"(parity) : "memory");
}

__global__ void
ring(const uint4 *from, uint4 *to)
{
   __shared__ alignas(16) uint4 stage[STAGES][THREADS];
   __shared__ uint64_t full[STAGES], empty[STAGES];
   if (threadIdx.x == 0)
      for (int s = 0; s < STAGES; s++) {
         asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
            (uint32_t)__cvta_generic_to_shared(&full[s])), "r"(THREADS));
         asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
            (uint32_t)__cvta_generic_to_shared(&empty[s])), "r"(GIVERS));
      }
   __syncthreads();
   int own = threadIdx.x % THREADS;
   for (int turn = 0; turn < TURNS; turn++) {
      int s = turn % STAGES;
      uint32_t parity = turn / STAGES & 1;
      uint32_t f = (uint32_t)__cvta_generic_to_shared(&full[s]);
      uint32_t e = (uint32_t)__cvta_generic_to_shared(&empty[s]);
      if (threadIdx.x >= THREADS) {
         wait(e, parity ^ 1);
         asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
            (uint32_t)__cvta_generic_to_shared(&stage[s][own])), "l"(from + turn * THREADS + own)
            : "memory");
         asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(f) : "memory");
      } else {
         wait(f, parity);
         to[turn * THREADS + own] = stage[s][(own + 37) % THREADS];
#ifdef ELECTED
         __syncwarp();
         if (threadIdx.x % 32 == 0)
#endif
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(e) : "memory");
      }
   }
   asm volatile("cp.async.wait_all;" ::: "memory");
}

int
main()
{
   uint4 *from, *to;
   cudaMallocManaged(&from, TURNS * THREADS * sizeof *from);
   cudaMallocManaged(&to, TURNS * THREADS * sizeof *to);
   for (int i = 0; i < TURNS * THREADS; i++)
      from[i].x = i;
   ring<<<1, 2 * THREADS>>>(from, to);
   int bad = cudaDeviceSynchronize() != cudaSuccess;
   for (int i = 0; i < TURNS * THREADS; i++)
      bad += to[i].x != from[i / THREADS * THREADS + (i % THREADS + 37) % THREADS].x;
   printf("%d wrong\n", bad);
   return bad != 0;
}
