# The laptop scale in a container: docker build -t rlvr . && docker run --rm -it --security-opt seccomp=unconfined rlvr
# Programs are judged in bubblewrap, which needs user namespaces: hence the option, and apparmor=unconfined on Ubuntu.
FROM python:3.11-slim-bookworm
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends bubblewrap g++ git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home rlvr
USER rlvr
WORKDIR /home/rlvr/rlvr
COPY --chown=rlvr . .
RUN make install
CMD ["make", "run"]
