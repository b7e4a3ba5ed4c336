//! A media body as an ordered list of spans, and the sinks that execute it.
