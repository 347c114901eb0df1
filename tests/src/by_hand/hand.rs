//! Hand tracking.

use super::ByHand;
use super::cameras::Turn;
use super::sums::numbers;
use serde_json::Value as Json;

type Mat = [[f64; 4]; 4];
type Vec3 = [f64; 3];

const BONES: usize = 22;

struct Hand {
    theta: [f64; 26],
    us: Vec<[f64; 2]>,
    corners: Vec<usize>,
    points: Vec<Vec3>,
    parents: Vec<i64>,
    relatives: Vec<Mat>,
    inverses: Vec<Mat>,
    positions: Vec<[f64; 4]>,
    weights: Vec<[f64; BONES]>,
    triangles: Vec<[usize; 3]>,
    mirror: f64,
}

fn times(a: &Mat, b: &Mat) -> Mat {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}

/// A rotation about the first axis, or its derivative, in homogeneous coordinates.
fn about_x(a: f64, slope: bool) -> Mat {
    let (s, c) = if slope { (a.cos(), -a.sin()) } else { (a.sin(), a.cos()) };
    let one = f64::from(u8::from(!slope));
    [[one, 0.0, 0.0, 0.0], [0.0, c, -s, 0.0], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, one]]
}

fn about_z(a: f64, slope: bool) -> Mat {
    let (s, c) = if slope { (a.cos(), -a.sin()) } else { (a.sin(), a.cos()) };
    let one = f64::from(u8::from(!slope));
    [[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, one, 0.0], [0.0, 0.0, 0.0, one]]
}

/// The transformations of the bones, and their derivatives: the bone, the index in theta, the derivative.
struct Pose {
    bones: Vec<Mat>,
    slopes: Vec<(usize, usize, Mat)>,
}

impl Hand {
    fn pose(&self, derive: bool) -> Pose {
        let (mut absolute, mut bones): (Vec<Mat>, Vec<Mat>) = (Vec::new(), Vec::new());
        let mut slopes: Vec<(usize, usize, Mat)> = Vec::new();
        for bone in 0..BONES {
            let (finger, at) = (bone.wrapping_sub(2) / 4, bone.wrapping_sub(2) % 4);
            let (bends, base) = (bone >= 2 && at < 3, if bone >= 2 { 6 + 4 * finger } else { 0 });
            let angle = |k: usize| self.theta[k];
            let first = bends && at == 0;
            let index = if first { base } else { base + at + 1 };
            let relative = match (bends, first) {
                (true, true) => {
                    times(&self.relatives[bone], &times(&about_z(angle(base + 1), false), &about_x(angle(base), false)))
                }
                (true, false) => times(&self.relatives[bone], &about_x(angle(index), false)),
                _ => self.relatives[bone],
            };
            let parent = usize::try_from(self.parents[bone]).ok();
            let up = |m: &Mat| parent.map_or(*m, |p| times(&absolute[p], m));
            let mut mine = Vec::new();
            if derive {
                if first {
                    mine.push((
                        bone,
                        base,
                        up(&times(
                            &self.relatives[bone],
                            &times(&about_z(angle(base + 1), false), &about_x(angle(base), true)),
                        )),
                    ));
                    mine.push((
                        bone,
                        base + 1,
                        up(&times(
                            &self.relatives[bone],
                            &times(&about_z(angle(base + 1), true), &about_x(angle(base), false)),
                        )),
                    ));
                } else if bends {
                    mine.push((bone, index, up(&times(&self.relatives[bone], &about_x(angle(index), true)))));
                }
                mine.extend(
                    slopes
                        .iter()
                        .filter(|(p, _, _)| Some(*p) == parent)
                        .map(|(_, k, m)| (bone, *k, times(m, &relative))),
                );
            }
            let here = up(&relative);
            absolute.push(here);
            bones.push(times(&here, &self.inverses[bone]));
            slopes.extend(mine);
        }
        slopes.iter_mut().for_each(|(b, _, m)| *m = times(m, &self.inverses[*b]));
        Pose { bones, slopes }
    }

    /// A vertex before the global rotation of the hand.
    fn bent(&self, p: &Pose, v: usize) -> Vec3 {
        let (at, mut out) = (&self.positions[v], [0.0; 3]);
        for (w, m) in self.weights[v].iter().zip(&p.bones) {
            (0..3).for_each(|i| out[i] += w * (m[i][0] * at[0] + m[i][1] * at[1] + m[i][2] * at[2] + m[i][3] * at[3]));
        }
        out[0] *= self.mirror;
        out
    }

    fn blend(&self, c: usize) -> ([usize; 3], [f64; 3]) {
        let u = self.us[c];
        (self.triangles[self.corners[c]], [u[0], u[1], 1.0 - u[0] - u[1]])
    }

    fn residuals(&self) -> Vec<f64> {
        let (pose, turn) = (self.pose(false), Turn::new([self.theta[0], self.theta[1], self.theta[2]]));
        let skin: Vec<Vec3> = (0..self.positions.len()).map(|v| self.bent(&pose, v)).collect();
        let one = |c: usize| {
            let (corners, u) = self.blend(c);
            let at = turn.of(std::array::from_fn(|i| (0..3).map(|k| u[k] * skin[corners[k]][i]).sum()));
            (0..3).map(move |i| self.points[c][i] - at[i] - self.theta[3 + i])
        };
        (0..self.corners.len()).flat_map(one).collect()
    }

    fn jacobian(&self) -> Vec<f64> {
        let (pose, turn) = (self.pose(true), Turn::new([self.theta[0], self.theta[1], self.theta[2]]));
        let skin: Vec<Vec3> = (0..self.positions.len()).map(|v| self.bent(&pose, v)).collect();
        let mut out = vec![0.0; 28 * 3 * self.corners.len()];
        for (c, rows) in out.chunks_exact_mut(3 * 28).enumerate() {
            let (corners, weights) = self.blend(c);
            let vertex = |k: usize| skin[corners[k]];
            let at: Vec3 = std::array::from_fn(|i| (0..3).map(|k| weights[k] * vertex(k)[i]).sum());
            let mut put = |column: usize, v: Vec3| (0..3).for_each(|i| rows[28 * i + column] -= v[i]);
            for k in 0..2 {
                put(k, turn.of(std::array::from_fn(|i| vertex(k)[i] - vertex(2)[i])));
            }
            turn.slopes(at).into_iter().enumerate().for_each(|(k, v)| put(2 + k, v));
            for k in 0..3 {
                put(5 + k, std::array::from_fn(|i| f64::from(u8::from(i == k))));
            }
            let mut by_angle = [[0.0; 3]; 26];
            for (b, k, m) in &pose.slopes {
                for (v, u) in corners.iter().zip(weights) {
                    let (p, w) = (&self.positions[*v], u * self.weights[*v][*b]);
                    (0..3).for_each(|i| {
                        by_angle[*k][i] += w * (m[i][0] * p[0] + m[i][1] * p[1] + m[i][2] * p[2] + m[i][3] * p[3]);
                    });
                }
            }
            for (k, v) in by_angle.into_iter().enumerate().skip(6) {
                put(2 + k, turn.of([self.mirror * v[0], v[1], v[2]]));
            }
        }
        out
    }
}

/// From a message with `us`.
pub fn ht(input: &Json) -> ByHand {
    let model = &input["data"]["model"];
    let wholes = |v: &Json| numbers(v).into_iter().map(|x| x as usize).collect::<Vec<usize>>();
    let mats = |v: &Json| numbers(v).as_chunks::<4>().0.as_chunks::<4>().0.to_vec();
    let theta = numbers(&input["theta"]);
    let data = Hand {
        theta: std::array::from_fn(|k| theta[k]),
        us: numbers(&input["us"]).as_chunks::<2>().0.to_vec(),
        corners: wholes(&input["data"]["correspondences"]),
        points: numbers(&input["data"]["points"]).as_chunks::<3>().0.to_vec(),
        parents: numbers(&model["parents"]).into_iter().map(|x| x as i64).collect(),
        relatives: mats(&model["base_relatives"]),
        inverses: mats(&model["inverse_base_absolutes"]),
        positions: numbers(&model["base_positions"]).as_chunks::<4>().0.to_vec(),
        weights: numbers(&model["weights"]).as_chunks::<BONES>().0.to_vec(),
        triangles: wholes(&model["triangles"]).as_chunks::<3>().0.to_vec(),
        mirror: if model["is_mirrored"] == true { -1.0 } else { 1.0 },
    };
    ByHand::of(data, Hand::residuals, Hand::jacobian)
}
