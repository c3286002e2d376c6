//! The `sngp` command.

mod args;
mod commands;
mod context;
mod device;
mod output;
mod progress;
mod schema;
mod signals;

use std::process::ExitCode;

use clap::Parser;
use sngp_kernels::allocator::{MiMalloc, keep_pages};

/// Training allocates and frees the same large buffers in every step; this allocator keeps them
/// when told so.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// What the shell sees: 0 done, 1 failed, 2 wrong arguments (clap's own), 130 interrupted, 143
/// asked to end.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    keep_pages();
    let args = args::Args::parse();
    let result =
        context::Context::new(&args.common).and_then(|context| start(args.command, &context));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has enough of it.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            let interrupted = error
                .downcast_ref::<sngp::Error>()
                .is_some_and(|error| matches!(error, sngp::Error::Interrupted { .. }));
            if interrupted {
                // The thread that got the signal knows which one it was, and ends the process.
                std::thread::sleep(std::time::Duration::from_secs(2));
                return ExitCode::from(signals::INTERRUPTED as u8);
            }
            ExitCode::from(FAILED)
        }
    }
}

/// A server has its own threads and minds signals itself; everything else stops at them.
fn start(command: args::Command, context: &context::Context) -> anyhow::Result<()> {
    match command {
        #[cfg(feature = "serve")]
        args::Command::Serve(serve) => commands::serve::run(&serve, context),
        command => {
            context.watch_signals()?;
            // Inside the pool, so that sharing out work does not mean waking another thread and
            // sleeping.
            rayon::scope(|_| run(command, context))
        }
    }
}

fn run(command: args::Command, context: &context::Context) -> anyhow::Result<()> {
    match command {
        args::Command::Demo(demo) => commands::demo::run(&demo, context),
        args::Command::Bench { benchmark } => match benchmark {
            args::Benchmark::Plane(plane) => commands::bench_2d::run(&plane, context),
            args::Benchmark::Clinc(clinc) => commands::bench_clinc::run(&clinc, context),
            args::Benchmark::Cifar10(cifar) => {
                commands::bench_cifar::run(&cifar, "cifar10", context)
            }
            args::Benchmark::Cifar100(cifar) => {
                commands::bench_cifar::run(&cifar, "cifar100", context)
            }
        },
        args::Command::Tune(tune) => commands::tune::run(&tune, context),
        args::Command::List => commands::list::run(context),
        args::Command::Data { action } => match action {
            args::Data::List => commands::data::list(context),
            args::Data::Fetch(fetch) => commands::data::run(&fetch, context),
        },
        args::Command::Train(train) => commands::train::run(&train, context),
        args::Command::Evaluate(evaluate) => commands::evaluate::run(&evaluate, context),
        args::Command::Export(export) => commands::export::run(&export, context),
        args::Command::Calibrate(calibrate) => commands::calibrate::run(&calibrate, context),
        args::Command::Update(update) => commands::update::run(&update, context),
        args::Command::Precision(precision) => commands::shards::accumulate(&precision, context),
        args::Command::Merge(merge) => commands::shards::merge(&merge, context),
        args::Command::Predict(predict) => commands::predict::run(&predict, context),
        #[cfg(feature = "serve")]
        args::Command::Serve(serve) => commands::serve::run(&serve, context),
        #[cfg(feature = "serve")]
        args::Command::Loadtest(test) => commands::serve::load_test(&test, context),
        args::Command::Inspect(inspect) => commands::inspect::run(&inspect, context),
        args::Command::Completions { shell } => commands::shell::completions(shell),
        args::Command::Man { out } => commands::shell::man_pages(&out),
    }
}
