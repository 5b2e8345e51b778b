internal import Testing

/// The tests that start whole systems: one after the other, so that none takes the processor from another's deadlines.
@Suite(.serialized) enum EndToEnd {}
