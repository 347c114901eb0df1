//! Persistent cotangents with the structure of the input.

use crate::value::{Buf, Value, seq, vector_space};
use std::rc::Rc;

/// Scalars in tuples, records, constructors and arrays. A component without scalars is an empty list.
enum Node<V> {
    Number(V),
    Parts(Vec<Rc<Node<V>>>),
}

/// Lists are as deep as they are long, so nodes are dropped without recursion.
impl<V> Drop for Node<V> {
    fn drop(&mut self) {
        let Node::Parts(parts) = self else { return };
        let mut queue = std::mem::take(parts);
        while let Some(part) = queue.pop() {
            if let Some(mut node) = Rc::into_inner(part)
                && let Node::Parts(more) = &mut node
            {
                queue.append(more);
            }
        }
    }
}

/// The path to a component: the path to its parent, and its position there.
#[derive(Clone, Copy)]
struct Path {
    outer: u32,
    at: u32,
}

const ROOT: u32 = u32::MAX;

/// Paths share prefixes, as the functions do that the paper composes.
#[derive(Default)]
struct Paths {
    all: Vec<Path>,
    /// The path to each scalar.
    numbers: Vec<u32>,
}

/// A tree, and the paths to its scalars.
pub(super) struct Tree<V> {
    root: Rc<Node<V>>,
    ways: Rc<Paths>,
}

impl<V: Clone> Tree<V> {
    /// The structure of `x` with one number everywhere. Scalars are counted in the order in which
    /// `vector_space::map_leaves` visits them.
    pub fn of(x: &Value, zero: V) -> Tree<V> {
        let mut ways = Paths::default();
        let root = build(x, ROOT, &zero, &mut ways);
        Tree { root, ways: Rc::new(ways) }
    }

    /// Bytes of the tree.
    pub fn bytes(&self) -> usize {
        (self.ways.all.len() + 1) * (size_of::<Node<V>>() + size_of::<Rc<Node<V>>>() + 2 * size_of::<usize>())
    }

    /// The nodes on the path to a scalar from the root, with the position taken in each.
    fn spine(&self, number: usize) -> Vec<(&Node<V>, usize)> {
        let mut way = Vec::new();
        let mut at = self.ways.numbers[number];
        while at != ROOT {
            let w = self.ways.all[at as usize];
            way.push(w.at as usize);
            at = w.outer;
        }
        let mut node = &*self.root;
        let mut spine = Vec::with_capacity(way.len());
        for k in way.into_iter().rev() {
            spine.push((node, k));
            if let Node::Parts(parts) = node {
                node = &parts[k];
            }
        }
        spine
    }

    /// The tree with one scalar changed, and the number of copied positions: all nodes on the path are copied.
    pub fn with<E>(&self, number: usize, change: impl FnOnce(&V) -> Result<V, E>) -> Result<(Tree<V>, usize), E> {
        let spine = self.spine(number);
        let mut work = 2 * spine.len();
        let old = match spine.last() {
            Some((Node::Parts(parts), k)) => &*parts[*k],
            Some((Node::Number(_), _)) | None => &*self.root,
        };
        let mut root = match old {
            Node::Number(v) => Rc::new(Node::Number(change(v)?)),
            Node::Parts(_) => self.root.clone(),
        };
        for (node, k) in spine.into_iter().rev() {
            if let Node::Parts(parts) = node {
                work += parts.len();
                let mut parts = parts.clone();
                parts[k] = root;
                root = Rc::new(Node::Parts(parts));
            }
        }
        Ok((Tree { root, ways: self.ways.clone() }, work))
    }

    /// The scalars, in order.
    pub fn numbers(&self) -> Vec<V> {
        let mut out = Vec::new();
        let mut queue = vec![&self.root];
        while let Some(node) = queue.pop() {
            match &**node {
                Node::Number(v) => out.push(v.clone()),
                Node::Parts(parts) => queue.extend(parts.iter().rev()),
            }
        }
        out
    }
}

fn build<V: Clone>(x: &Value, way: u32, zero: &V, ways: &mut Paths) -> Rc<Node<V>> {
    if vector_space::is_real(x) {
        let Some(shape) = seq::shape(x) else { return number(way, zero, ways) };
        let n: usize = shape.iter().product();
        return Rc::new(Node::Parts((0..n).map(|i| number(ways.step(way, i), zero, ways)).collect()));
    }
    let parts: &[Value] = match x {
        Value::Tuple(t) => &t.0,
        Value::Record(r) => &r.vals,
        Value::Data(d) => &d.fields,
        Value::Array(a) => match a.buf() {
            Buf::Tuple(vals) | Buf::Record(_, vals) | Buf::Boxed(vals) => vals,
            Buf::F64(_) | Buf::F32(_) | Buf::I64(_) | Buf::Bool(_) | Buf::Unit => &[],
        },
        _ => &[],
    };
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        Rc::new(Node::Parts(parts.iter().enumerate().map(|(i, v)| build(v, ways.step(way, i), zero, ways)).collect()))
    })
}

fn number<V: Clone>(way: u32, zero: &V, ways: &mut Paths) -> Rc<Node<V>> {
    ways.numbers.push(way);
    Rc::new(Node::Number(zero.clone()))
}

impl Paths {
    fn step(&mut self, outer: u32, at: usize) -> u32 {
        self.all.push(Path { outer, at: at as u32 });
        (self.all.len() - 1) as u32
    }
}
