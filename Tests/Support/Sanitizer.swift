import Glibc

/// Whether the tests, and the programs that were built with them, are instrumented.
///
/// Their heap is then another one, and a thread more runs: what is measured of either is not the product's.
package enum Sanitizer {
    package static let isLoaded = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
