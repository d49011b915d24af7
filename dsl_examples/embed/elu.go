// libtilec from Go: elu.tile from source to result, on a GPU if there is one, else on the CPU.
//
//	go run elu.go ../elu.tile
//
// cgo reads tilec/runtime.h itself; pkg-config finds it.
package main

/*
#cgo pkg-config: tilec
#include <stdlib.h>
#include <tilec/runtime.h>

// Go cannot take the address of a Go pointer inside of a struct: the argument list is made in C.
static TilecStatus
launch_elu(TilecKernel *kernel, TilecBuffer *x, TilecBuffer *y, int n)
{
   const TilecArg args[] = {tilec_view(TILEC_FP32, x, 0), tilec_view(TILEC_FP32, y, 0),
                            tilec_int(TILEC_I32, n), tilec_fp32(1.0f)};
   const TilecLaunch launch = {.grid = {TILEC_OWN_GRID, 1, 1}};
   return tilec_launch(kernel, &launch, args, 4);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"
)

type runtime struct{ rt *C.TilecRuntime }

func open() (*runtime, error) {
	for _, executor := range []C.TilecExecutor{C.TILEC_ON_CUDA, C.TILEC_ON_CPU} {
		options := C.TilecRuntimeOptions{executor: executor}
		options.struct_size = C.size_t(unsafe.Sizeof(options))
		r := &runtime{}
		if C.tilec_runtime_open(&options, &r.rt) == C.TILEC_OK {
			return r, r.check(C.tilec_jit_attach(r.rt, nil))
		}
	}
	return nil, errors.New("no runtime can be opened")
}

// check makes an error of a status, in the library's own words.
func (r *runtime) check(status C.TilecStatus) error {
	if status == C.TILEC_OK {
		return nil
	}
	var text [1024]C.char
	C.tilec_runtime_error(r.rt, &text[0], C.size_t(len(text)))
	return errors.New(C.GoString(&text[0]))
}

func (r *runtime) elu(file string, data []float32) error {
	name, kernelName := C.CString(file), C.CString("elu")
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(kernelName))
	source := C.TilecSource{file: name}
	source.struct_size = C.size_t(unsafe.Sizeof(source))
	var module *C.TilecModule
	if err := r.check(C.tilec_module_from_source(r.rt, &source, &module)); err != nil {
		return err
	}
	defer C.tilec_module_free(module)
	var kernel *C.TilecKernel
	if err := r.check(C.tilec_module_kernel(module, kernelName, &kernel)); err != nil {
		return err
	}
	bytes := C.uint64_t(len(data) * 4)
	var buffers [2]*C.TilecBuffer
	for i := range buffers {
		if err := r.check(C.tilec_buffer_new(r.rt, bytes, &buffers[i])); err != nil {
			return err
		}
		defer C.tilec_buffer_free(buffers[i])
	}
	at := unsafe.Pointer(&data[0])
	if err := r.check(C.tilec_buffer_upload(buffers[0], 0, at, bytes, nil)); err != nil {
		return err
	}
	if err := r.check(C.launch_elu(kernel, buffers[0], buffers[1], C.int(len(data)))); err != nil {
		return err
	}
	return r.check(C.tilec_buffer_download(buffers[1], 0, at, bytes, nil))
}

func run(file string) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer C.tilec_runtime_close(r.rt)
	data, wanted := make([]float32, 1000), make([]float64, 1000)
	for i := range data {
		data[i] = (float32(i) - 500) / 100
		wanted[i] = float64(data[i])
		if data[i] < 0 {
			wanted[i] = math.Expm1(float64(data[i]))
		}
	}
	if err := r.elu(file, data); err != nil {
		return err
	}
	worst := 0.0
	for i := range data {
		worst = math.Max(worst, math.Abs(float64(data[i])-wanted[i]))
	}
	fmt.Printf("Go: elu of %d numbers, largest error %g\n", len(data), worst)
	if worst > 1e-6 {
		return errors.New("that is too much")
	}
	return nil
}

func main() {
	file := "elu.tile"
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	if err := run(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
