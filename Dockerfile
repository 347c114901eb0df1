# JupyterLab with adl. `docker build -t adl .`, then `docker run --rm -p 8888:8888 adl`.
FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release -p adl

FROM python:3.12-slim-bookworm
RUN pip install --no-cache-dir jupyterlab==4.* ipywidgets==8.* && useradd --create-home --uid 1000 jovyan
COPY --from=build /src/target/release/adl /usr/local/bin/adl
COPY --chown=jovyan examples /home/jovyan/examples
COPY --chown=jovyan notebooks /home/jovyan/notebooks
USER jovyan
WORKDIR /home/jovyan
RUN adl kernel install --user
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser"]
