//! Respool: driver.
