// libtilec from Rust: elu.tile from source to result, on a GPU if there is one, else on the CPU.
//    rustc -O elu.rs $(pkg-config --libs-only-L tilec) && ./elu ../elu.tile
// The declarations are those of tilec/runtime.h.  Structs with a struct_size may be declared as far
// as they are used.
use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

#[repr(C)]
struct RuntimeOptions {
    struct_size: usize,
    executor: u32,
    device: i32,
}
const ON_CUDA: u32 = 0;
const ON_CPU: u32 = 1;

#[repr(C)]
struct Source {
    struct_size: usize,
    file: *const c_char,
    text: *const c_char, // null: the file is read
    text_bytes: usize,
    kernel: *const c_char, // null: all kernels of the file
}

#[repr(C)]
struct Arg {
    kind: u32,
    dtype: u32,
    value: u64, // a union of 8 bytes
    bytes: u64,
}
const SCALAR: u32 = 1;
const BUFFER: u32 = 3;
const I32: u32 = 4;
const FP32: u32 = 14;

#[repr(C)]
struct Launch {
    stream: *mut c_void,
    grid: [u32; 3],
}
const OWN_GRID: u32 = u32::MAX;

#[link(name = "tilec")]
extern "C" {
    fn tilec_runtime_open(options: *const RuntimeOptions, out: *mut *mut c_void) -> c_int;
    fn tilec_runtime_close(rt: *mut c_void);
    fn tilec_runtime_error(rt: *const c_void, buffer: *mut c_char, bytes: usize) -> usize;
    fn tilec_jit_attach(rt: *mut c_void, options: *const c_void) -> c_int;
    fn tilec_module_from_source(rt: *mut c_void, s: *const Source, out: *mut *mut c_void) -> c_int;
    fn tilec_module_kernel(m: *mut c_void, name: *const c_char, out: *mut *mut c_void) -> c_int;
    fn tilec_module_free(module: *mut c_void);
    fn tilec_buffer_new(rt: *mut c_void, bytes: u64, out: *mut *mut c_void) -> c_int;
    fn tilec_buffer_free(buffer: *mut c_void);
    fn tilec_buffer_upload(
        b: *mut c_void,
        at: u64,
        from: *const c_void,
        bytes: u64,
        stream: *mut c_void,
    ) -> c_int;
    fn tilec_buffer_download(
        b: *mut c_void,
        at: u64,
        to: *mut c_void,
        bytes: u64,
        stream: *mut c_void,
    ) -> c_int;
    fn tilec_launch(
        kernel: *mut c_void,
        launch: *const Launch,
        args: *const Arg,
        count: usize,
    ) -> c_int;
}

struct Runtime(*mut c_void);

impl Runtime {
    fn open() -> Result<Runtime, String> {
        for executor in [ON_CUDA, ON_CPU] {
            let options = RuntimeOptions {
                struct_size: std::mem::size_of::<RuntimeOptions>(),
                executor,
                device: 0,
            };
            let mut rt = null_mut();
            if unsafe { tilec_runtime_open(&options, &mut rt) } == 0 {
                let opened = Runtime(rt);
                opened.check(unsafe { tilec_jit_attach(rt, null()) })?;
                return Ok(opened);
            }
        }
        Err("no runtime can be opened".into())
    }

    /// A status as a Result: the library's own words when it is not TILEC_OK.
    fn check(&self, status: c_int) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        let mut text = vec![0u8; 1024];
        let length = unsafe { tilec_runtime_error(self.0, text.as_mut_ptr().cast(), text.len()) };
        text.truncate(length.min(1023));
        Err(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        unsafe { tilec_runtime_close(self.0) }
    }
}

fn elu(rt: &Runtime, file: &str, data: &mut [f32]) -> Result<(), String> {
    let file = CString::new(file).map_err(|e| e.to_string())?;
    let source = Source {
        struct_size: std::mem::size_of::<Source>(),
        file: file.as_ptr(),
        text: null(),
        text_bytes: 0,
        kernel: null(),
    };
    let bytes = (data.len() * 4) as u64;
    let (mut module, mut kernel) = (null_mut(), null_mut());
    let (mut x, mut y) = (null_mut(), null_mut());
    unsafe {
        rt.check(tilec_module_from_source(rt.0, &source, &mut module))?;
        rt.check(tilec_module_kernel(
            module,
            b"elu\0".as_ptr().cast(),
            &mut kernel,
        ))?;
        rt.check(tilec_buffer_new(rt.0, bytes, &mut x))?;
        rt.check(tilec_buffer_new(rt.0, bytes, &mut y))?;
        rt.check(tilec_buffer_upload(
            x,
            0,
            data.as_ptr().cast(),
            bytes,
            null_mut(),
        ))?;
        let buffer = |b: *mut c_void| Arg {
            kind: BUFFER,
            dtype: FP32,
            value: b as u64,
            bytes: 0,
        };
        let args = [
            buffer(x),
            buffer(y),
            Arg {
                kind: SCALAR,
                dtype: I32,
                value: data.len() as u64,
                bytes: 0,
            },
            Arg {
                kind: SCALAR,
                dtype: FP32,
                value: 1f64.to_bits(),
                bytes: 0,
            },
        ];
        let launch = Launch {
            stream: null_mut(),
            grid: [OWN_GRID, 1, 1],
        };
        rt.check(tilec_launch(kernel, &launch, args.as_ptr(), args.len()))?;
        rt.check(tilec_buffer_download(
            y,
            0,
            data.as_mut_ptr().cast(),
            bytes,
            null_mut(),
        ))?;
        tilec_buffer_free(x);
        tilec_buffer_free(y);
        tilec_module_free(module);
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "elu.tile".into());
    let rt = Runtime::open()?;
    let mut data: Vec<f32> = (0..1000).map(|i| (i as f32 - 500.0) / 100.0).collect();
    let wanted: Vec<f32> = data
        .iter()
        .map(|&x| if x < 0.0 { x.exp_m1() } else { x })
        .collect();
    elu(&rt, &file, &mut data)?;
    let worst = data
        .iter()
        .zip(&wanted)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    println!("Rust: elu of 1000 numbers, largest error {:e}", worst);
    if worst > 1e-6 {
        return Err("that is too much".into());
    }
    Ok(())
}
