//! Makes cargo notice new and removed page assets, which are embedded in the binary.
fn main() {
    println!("cargo:rerun-if-changed=assets");
}
