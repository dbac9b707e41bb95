//! The kernels and the native programs against the one-thread reference.

use crossdock_cpu_gpu::native::{Form, Native};
use crossdock_cpu_gpu::{Benchmark, Model, reference};
use crossdock_device::{Device, devices};
use crossdock_test_support::skip;

const POWER: u32 = 8;

/// The first device and its shadow; none, and a skip, if there is no driver.
pub(crate) fn both() -> Vec<Device> {
    if devices().is_empty() {
        skip("no device");
        return vec![];
    }
    ["opencl:0", "shadow:opencl:0"].map(|name| Device::open(name).expect("a device")).into()
}

#[test]
fn native_runs_of_all_models_give_what_one_thread_computes() {
    for (device, benchmark) in both().iter().flat_map(|it| Benchmark::ALL.map(|that| (it, that))) {
        let expected = reference::computed(benchmark, 1 << POWER, 1);
        for (model, form) in Model::ALL.into_iter().flat_map(|it| Form::ALL.map(|that| (it, that)))
        {
            let what = format!("{}, {benchmark}, {model}, {form}", device.info().name);
            let mut native = match Native::new(device, benchmark, POWER, (model, form)) {
                Ok(native) => native,
                Err(error) if model == Model::Managed => {
                    assert!(error.to_string().contains("um"), "{error}");
                    continue;
                }
                Err(error) => panic!("{what}: {error}"),
            };
            for _ in 0..2 {
                let run = native.run(&expected).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(run.outcome, Ok(()), "{what}");
                let copies = model == Model::Copy;
                assert_eq!(run.copied_bytes > 0, copies, "{what}: {}", run.copied_bytes);
            }
        }
    }
}

#[test]
fn a_run_on_other_numbers_is_told_to_be_wrong() {
    let Some(device) = both().into_iter().next() else { return };
    let benchmark = Benchmark::Cache;
    let how = (Model::ZeroCopy, Form::Best);
    let mut native = Native::new(&device, benchmark, POWER, how).expect("it is made");
    let mut expected = reference::computed(benchmark, 1 << POWER, 1);
    expected[5] ^= 1;
    let run = native.run(&expected).expect("it runs");
    assert_eq!(run.outcome.expect_err("it is wrong").index, 5);
}
