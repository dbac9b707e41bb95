//! What the commands for interfaces and encoded messages take, in the words and flags of `ros2`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum InterfaceCommand {
    /// List the types that are known
    List {
        #[command(flatten)]
        kinds: KindArguments,
        #[command(flatten)]
        definitions: DefinitionArguments,
    },
    /// List the types of a package
    Package {
        /// Package, such as sensor_msgs
        package: String,
        #[command(flatten)]
        definitions: DefinitionArguments,
    },
    /// List the packages that have types
    Packages {
        #[command(flatten)]
        kinds: KindArguments,
        #[command(flatten)]
        definitions: DefinitionArguments,
    },
    /// Print a message, request or goal with its default values, in YAML
    Proto {
        /// Type, such as geometry_msgs/msg/Twist
        #[arg(value_name = "TYPE")]
        type_name: String,
        /// Print no quotation marks around it
        #[arg(long)]
        no_quotes: bool,
        #[command(flatten)]
        definitions: DefinitionArguments,
    },
    /// Print the definition of a type and of the types that it uses
    Show {
        /// Type, such as sensor_msgs/msg/Image
        #[arg(value_name = "TYPE")]
        type_name: String,
        /// Print the comments of used types, too
        #[arg(long, conflicts_with = "no_comments")]
        all_comments: bool,
        /// Print no comments
        #[arg(long)]
        no_comments: bool,
        #[command(flatten)]
        definitions: DefinitionArguments,
    },
    /// Print the RIHS01 hash of a type; of a service or action also the hashes of its messages
    Hash {
        /// Type, such as std_srvs/srv/SetBool
        #[arg(value_name = "TYPE")]
        type_name: String,
        #[command(flatten)]
        definitions: DefinitionArguments,
    },
}

/// Which kinds of types; none: all.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct KindArguments {
    /// Only messages
    #[arg(short = 'm', long)]
    pub(crate) only_msgs: bool,
    /// Only services
    #[arg(short = 's', long)]
    pub(crate) only_srvs: bool,
    /// Only actions
    #[arg(short = 'a', long)]
    pub(crate) only_actions: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DefinitionArguments {
    /// Folder with packages of interfaces, as PACKAGE/msg/TYPE.msg anywhere below it, and srv,
    /// action and .idl alike; before the standard ones, those of AMENT_PREFIX_PATH, and the
    /// folders `interfaces` and `src` of the current folder; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) interfaces: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MsgCommand {
    /// Decode messages and encode them again. Prints {"type", "value", "cdr_hex"} for each line of
    /// the file, or {"error"}; exits with 1 if a line is wrong
    Decode {
        /// File with a message a line: {"type": TYPE, "cdr_hex": DIGITS}; with "value" in the
        /// place of "cdr_hex" the value is encoded
        #[arg(long, value_name = "FILE")]
        vectors: PathBuf,
        #[command(flatten)]
        interfaces: DefinitionArguments,
    },
}
