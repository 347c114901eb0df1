//! Notebooks without a front end: stored outputs, and parameters.

use adl_kernel::internals::OutputSink;
use adl_kernel::notebook::{CellOutputs, normal, stored, timeless};
use adl_kernel::parameters::{Parameter, inject, sizeless};
use serde_json::json;

#[test]
fn how_long_it_took_is_not_compared() {
    assert_eq!(timeless("made in 1.25 ms; x = 3 (0.1 ms)\n"), "made in _ ms; x = 3 (_ ms)\n");
    assert_ne!(timeless("1.5 m"), timeless("1.6 m"));
}

#[test]
fn outputs_are_stored_as_front_ends_store_them() {
    let page = CellOutputs::default();
    page.stream("stdout", "a\n");
    page.stream("stdout", "b");
    page.publish(
        "display_data",
        json!({"data": {"text/plain": "1"}, "metadata": {}, "transient": {"display_id": "x"}}),
        json!({}),
    );
    page.publish(
        "update_display_data",
        json!({"data": {"text/plain": "2\n3"}, "metadata": {}, "transient": {"display_id": "x"}}),
        json!({}),
    );
    let outputs: Vec<_> = page.outputs.take().into_iter().map(stored).collect();
    assert_eq!(outputs[0], json!({"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]}));
    assert_eq!(
        outputs[1],
        json!({"output_type": "display_data", "data": {"text/plain": ["2\n", "3"]}, "metadata": {}})
    );
    assert_eq!(
        normal(&outputs),
        normal(&[
            json!({"output_type": "stream", "name": "stdout", "text": "a\nb"}),
            json!({"output_type": "display_data", "data": {"text/plain": "2\n3"}, "metadata": {}})
        ])
    );
}

fn given(text: &str) -> Parameter {
    text.parse().unwrap()
}

#[test]
fn values_are_expressions_or_text() {
    for (text, value) in [
        ("a=0.25", "0.25"),
        ("a=-3", "-3"),
        ("a=true", "true"),
        ("a=-inf", "-inf"),
        ("a=[1, 2]", "[1, 2]"),
        ("a=(1 + 2)", "(1 + 2)"),
        ("a=\"x\"", "\"x\""),
    ] {
        assert_eq!(given(text).value, value);
    }
    for (text, value) in [
        ("a=run 1", "\"run 1\""),
        ("a=2024-01-01", "\"2024-01-01\""),
        ("a=x=y", "\"x=y\""),
        ("a=", "\"\""),
        ("a=infinity", "\"infinity\""),
    ] {
        assert_eq!(given(text).value, value);
    }
    for wrong in ["alpha", "Alpha=1", "let=1", "a b=1", "=1"] {
        assert!(wrong.parse::<Parameter>().is_err(), "{wrong}");
    }
}

#[test]
fn the_cell_stands_behind_the_defaults_and_is_replaced() {
    let mut book = json!({"nbformat_minor": 5, "cells": [{"source": "1"}, {"metadata": {"tags": ["parameters"]}, "source": ["let a = 1\n", "let b = 2"]}, {"source": "2"}]});
    assert_eq!(inject(&mut book, &[given("a=3")]), Ok(2));
    assert_eq!(inject(&mut book, &[given("a=4"), given("b=5")]), Ok(2));
    assert_eq!(book["cells"].as_array().unwrap().len(), 4);
    assert_eq!(book["cells"][2]["source"], json!(["-- Parameters\n", "let a = 4\n", "let b = 5"]));
    assert_eq!(inject(&mut book, &[given("c=1")]).unwrap_err(), "it has no parameter `c`; its parameters are `a`, `b`");
    let mut plain = json!({"cells": [{"source": "1"}]});
    assert_eq!(inject(&mut plain, &[given("a=3")]), Ok(0));
}

#[test]
fn sizes_are_not_compared() {
    assert_eq!(sizeless("[3][2]Float -> [n]Int"), "[][]Float -> []Int");
}
