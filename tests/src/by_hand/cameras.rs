//! Bundle adjustment.

use super::ByHand;
use super::sums::numbers;
use serde_json::Value as Json;

type Vec3 = [f64; 3];

pub(super) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A rotation given by its axis, whose length is the angle.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    angle: f64,
    axis: Vec3,
    sin: f64,
    cos: f64,
}

impl Turn {
    pub fn new(r: Vec3) -> Turn {
        let angle = dot(r, r).sqrt();
        Turn { angle, axis: r.map(|v| v / angle), sin: angle.sin(), cos: angle.cos() }
    }

    pub fn of(&self, v: Vec3) -> Vec3 {
        let (p, along) = (cross(self.axis, v), dot(self.axis, v) * (1.0 - self.cos));
        std::array::from_fn(|k| v[k] * self.cos + p[k] * self.sin + self.axis[k] * along)
    }

    /// The derivatives of the rotated vector by each component of the axis vector.
    pub fn slopes(&self, v: Vec3) -> [Vec3; 3] {
        let (a, along, rest) = (self.axis, dot(self.axis, v), 1.0 - self.cos);
        let p = cross(a, v);
        let by_angle: Vec3 = std::array::from_fn(|k| -v[k] * self.sin + p[k] * self.cos + a[k] * along * self.sin);
        let by_axis: [Vec3; 3] = std::array::from_fn(|m| {
            let e: Vec3 = std::array::from_fn(|k| f64::from(u8::from(k == m)));
            let q = cross(e, v);
            std::array::from_fn(|k| q[k] * self.sin + rest * (e[k] * along + a[k] * v[m]))
        });
        std::array::from_fn(|k| {
            let part = |m: usize| (f64::from(u8::from(k == m)) - a[m] * a[k]) / self.angle;
            std::array::from_fn(|i| by_angle[i] * a[k] + (0..3).map(|m| by_axis[m][i] * part(m)).sum::<f64>())
        })
    }
}

struct Problem {
    cams: Vec<[f64; 11]>,
    points: Vec<Vec3>,
    weights: Vec<f64>,
    feats: Vec<[f64; 2]>,
}

/// The projection of a point by a camera: the rotated point, the image point, its squared radius, the distortion.
fn seen(cam: &[f64; 11], x: Vec3) -> (Vec3, [f64; 2], f64, f64) {
    let z = Turn::new([cam[0], cam[1], cam[2]]).of([x[0] - cam[3], x[1] - cam[4], x[2] - cam[5]]);
    let flat = [z[0] / z[2], z[1] / z[2]];
    let r2 = flat[0] * flat[0] + flat[1] * flat[1];
    (z, flat, r2, 1.0 + cam[9] * r2 + cam[10] * r2 * r2)
}

fn error(cam: &[f64; 11], x: Vec3, w: f64, feat: [f64; 2]) -> [f64; 2] {
    let (_, flat, _, lens) = seen(cam, x);
    std::array::from_fn(|k| w * (flat[k] * lens * cam[6] + cam[7 + k] - feat[k]))
}

/// The two Jacobian rows of an observation: by its camera, its point and its weight.
fn rows(cam: &[f64; 11], x: Vec3, weight: f64, feat: [f64; 2]) -> [[f64; 15]; 2] {
    let (z, flat, r2, lens) = seen(cam, x);
    let turn = Turn::new([cam[0], cam[1], cam[2]]);
    let slopes = turn.slopes([x[0] - cam[3], x[1] - cam[4], x[2] - cam[5]]);
    let columns: [Vec3; 3] = std::array::from_fn(|k| turn.of(std::array::from_fn(|i| f64::from(u8::from(i == k)))));
    let bend = 2.0 * cam[9] + 4.0 * cam[10] * r2;
    std::array::from_fn(|axis| {
        let by_flat: [f64; 2] =
            std::array::from_fn(|k| cam[6] * (f64::from(u8::from(k == axis)) * lens + flat[axis] * bend * flat[k]));
        let by_z = [by_flat[0] / z[2], by_flat[1] / z[2], -(by_flat[0] * flat[0] + by_flat[1] * flat[1]) / z[2]];
        let mut row = [0.0; 15];
        for k in 0..3 {
            row[k] = weight * dot(by_z, slopes[k]);
            row[11 + k] = weight * dot(by_z, columns[k]);
            row[3 + k] = -row[11 + k];
        }
        row[6] = weight * lens * flat[axis];
        row[7 + axis] = weight;
        row[9] = weight * cam[6] * r2 * flat[axis];
        row[10] = weight * cam[6] * r2 * r2 * flat[axis];
        row[14] = flat[axis] * lens * cam[6] + cam[7 + axis] - feat[axis];
        row
    })
}

/// From a message: all errors and all blocks; only the first and last ones are compared.
pub fn ba(input: &Json) -> ByHand {
    let count = |name: &str| input[name].as_u64().unwrap_or(0) as usize;
    let vector = |name: &str| numbers(&input[name]);
    let (cam, x, feat) = (vector("cam"), vector("x"), vector("feat"));
    let data = Problem {
        cams: vec![std::array::from_fn(|k| cam[k]); count("n")],
        points: vec![std::array::from_fn(|k| x[k]); count("m")],
        weights: vec![input["w"].as_f64().unwrap_or(0.0); count("p")],
        feats: vec![std::array::from_fn(|k| feat[k]); count("p")],
    };
    let value = |b: &Problem| {
        let one = |o: usize| error(&b.cams[o % b.cams.len()], b.points[o % b.points.len()], b.weights[o], b.feats[o]);
        let all: Vec<[f64; 2]> = (0..b.weights.len()).map(one).collect();
        let weights: Vec<f64> = b.weights.iter().map(|w| 1.0 - w * w).collect();
        [&all[0][..], &weights[..1]].concat()
    };
    let jacobian = |b: &Problem| {
        let one = |o: usize| rows(&b.cams[o % b.cams.len()], b.points[o % b.points.len()], b.weights[o], b.feats[o]);
        let all: Vec<[[f64; 15]; 2]> = (0..b.weights.len()).map(one).collect();
        let slopes: Vec<f64> = b.weights.iter().map(|w| -2.0 * w).collect();
        [&all[0].as_flattened()[..30], &slopes[slopes.len() - 1..]].concat()
    };
    ByHand::of(data, value, jacobian)
}
